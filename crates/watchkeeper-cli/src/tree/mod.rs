//! `watchkeeper tree`: prints an object, the objects it owns, and the health of each.
//!
//! Input: the metadata of all objects that may belong to the tree, then the bodies of those that do.
//! Output: a tree on standard output, or its nodes as JSON or YAML.
//!
//! Invariants:
//! - `cli_tree.T1`: resources that may not be listed are skipped and reported on standard error, and so is the health
//!   of objects that cannot be read.
//! - `cli_tree.T2`: bodies are read only of objects in the tree, and never of kinds without a health status, such as
//!   Secrets.

mod draw;
mod gather;

use std::collections::HashMap;
use std::sync::Arc;

use clap::Args;
use serde_json::Value;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{GroupKind, GroupVersion, Object, Timestamp};
use watchkeeper_web::tree::{Condition, MAX_DEPTH, Member, Node, NodeIndex, OwnerGraph, assess};

use crate::connect::{Connection, Flags};
use crate::failure::Failure;
use crate::output::{Colours, Format, ObjectPrinter};
use crate::selection::{Asked, Selection, Selectors};
use crate::stdout::print;
use draw::{Lines, draw};
pub(crate) use gather::is_silent;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Root of the tree: deployment/web, or a resource and a name [default: all objects of the namespace]
    #[arg(value_name = "RESOURCE")]
    object: Vec<String>,
    /// Start at the topmost owner of the object
    #[arg(long)]
    up: bool,
    /// Output format: json, yaml [default: a tree]
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<String>,
}

pub(crate) async fn run(arguments: &Arguments, flags: &Flags) -> Result<(), Failure> {
    let format = match arguments.output.as_deref() {
        None | Some("") => None,
        Some("json") => Some(Format::Json),
        Some("yaml") => Some(Format::Yaml),
        Some(other) => {
            return Err(Failure::error(format!(
                "unable to match a printer suitable for the output format {other:?}, allowed formats are: json,yaml"
            )));
        }
    };
    let connection = Connection::open(flags)?;
    if arguments.object.is_empty() {
        return print_namespace(&connection, format).await;
    }
    let selection = Selection::of(&arguments.object, &Selectors::default(), &connection).await?;
    let Asked::Named(named) = &selection.asked else {
        return Err(Failure::error("no object specified; for example: deployment/web"));
    };
    let [(mapping, name)] = named.as_slice() else {
        return Err(Failure::error("only one object can be specified"));
    };
    let mut root = gather::read(&connection, mapping, selection.namespace_of(mapping), name).await?;
    if arguments.up {
        root = topmost_owner(&connection, root).await?;
    }
    let namespace = root.object.metadata.key().namespace().unwrap_or_default().to_owned();
    let members = gather::all(&connection, &namespace).await?;
    let uid = root.object.metadata.uid().to_owned();
    let graph = OwnerGraph::new(std::iter::once(root).chain(members));
    let index =
        graph.find(&uid).ok_or_else(|| Failure::error("the object has no uid and cannot own objects"))?;
    let nodes = build_trees(&connection, &graph, vec![index]).await;
    show(&nodes, format)
}

/// Prints all objects of a namespace as trees.
async fn print_namespace(connection: &Connection, format: Option<Format>) -> Result<(), Failure> {
    let members = gather::all(connection, &connection.namespace).await?;
    let graph = OwnerGraph::new(members);
    let roots: Vec<NodeIndex> = graph.roots().collect();
    if roots.is_empty() && format.is_none() {
        eprintln!("No resources found in {} namespace.", connection.namespace);
        return Ok(());
    }
    show(&build_trees(connection, &graph, roots).await, format)
}

/// Follows owner references up to the topmost existing owner.
async fn topmost_owner(connection: &Connection, from: Member) -> Result<Member, Failure> {
    let mut at = from;
    let mut passed = vec![at.object.metadata.uid().to_owned()];
    while passed.len() < MAX_DEPTH {
        let Some(owner) = owner_of(connection, &at.object).await? else { break };
        if passed.iter().any(|uid| uid == owner.object.metadata.uid()) {
            break; // a cycle of owner references
        }
        passed.push(owner.object.metadata.uid().to_owned());
        at = owner;
    }
    Ok(at)
}

/// Returns the controller of an object, or else its first existing owner.
async fn owner_of(connection: &Connection, object: &Object) -> Result<Option<Member>, Failure> {
    let metadata = &object.metadata;
    for owner in metadata.controller().into_iter().chain(metadata.owner_references()) {
        let Ok(version) = owner.api_version.parse::<GroupVersion>() else { continue };
        let kind = GroupKind { group: version.group, kind: owner.kind.to_owned() };
        let mapping = match connection.mapper.kind(&kind, &[&version.version]).await {
            Err(error) if error.is_no_match() => continue, // the server no longer serves the kind
            found => found?,
        };
        let namespace = if mapping.namespaced { metadata.key().namespace().unwrap_or_default() } else { "" };
        match gather::read(connection, &mapping, namespace, owner.name).await {
            Ok(found) if found.object.metadata.uid() == owner.uid => return Ok(Some(found)),
            Ok(_) => {}
            Err(failure) if failure.is_not_found() => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(None)
}

/// Builds the trees with the health of every node.
async fn build_trees(connection: &Connection, graph: &OwnerGraph, roots: Vec<NodeIndex>) -> Vec<Node> {
    let indexes = roots.iter().flat_map(|root| graph.descendants(*root));
    let members: Vec<&Member> = indexes.map(|index| graph.member(index)).collect();
    let bodies: HashMap<String, Value> = gather::bodies(connection, &members).await;
    let mut condition = |member: &Member| {
        let kind = &member.mapping.kind;
        let body = bodies.get(member.object.metadata.uid());
        body.map_or(Condition::UNKNOWN, |body| assess(&kind.group, &kind.kind, body))
    };
    roots.into_iter().map(|root| graph.tree(root, &mut condition)).collect()
}

fn show(nodes: &[Node], format: Option<Format>) -> Result<(), Failure> {
    let text = match format {
        None => draw(nodes, Lines::of_locale(), Colours::of_stdout(), Timestamp::now()),
        Some(format) => {
            let value = match nodes {
                [node] => serde_json::to_value(node),
                nodes => serde_json::to_value(nodes),
            };
            let value = value.map_err(|error| Failure::of(&error))?;
            ObjectPrinter::new(format, false, false).print(value)?
        }
    };
    Ok(print(text.as_bytes())?)
}

/// Creates a member from an object of a resource.
fn member(mapping: &Arc<Mapping>, object: Object) -> Member {
    Member { mapping: mapping.clone(), object: Arc::new(object) }
}
