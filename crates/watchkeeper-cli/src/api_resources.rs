//! `watchkeeper api-resources`: prints the resource types that the server supports.

use clap::Args;
use watchkeeper_client::discovery::{ApiResource, DiscoveryError};
use watchkeeper_core::GroupVersion;

use crate::connect::{Connection, Flags};
use crate::failure::Failure;
use crate::output::TabWriter;
use crate::stdout::print;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Limit to resources of this API group; '' for the core group
    #[arg(long, value_name = "GROUP")]
    api_group: Option<String>,
    /// Limit to namespaced resources; =false for cluster-scoped ones
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    namespaced: Option<bool>,
    /// Limit to resources that support all of these verbs: get, list, watch, ...
    #[arg(long, value_delimiter = ',')]
    verbs: Vec<String>,
    /// Limit to resources in all of these categories: all, ...
    #[arg(long, value_delimiter = ',')]
    categories: Vec<String>,
    /// Sort by name or kind [default: by group]
    #[arg(long, default_value = "", hide_default_value = true)]
    sort_by: String,
    /// Use the discovery cache
    #[arg(long)]
    cached: bool,
    /// Output format: wide, name [default: a table]
    #[arg(short, long, default_value = "", hide_default_value = true, value_name = "FORMAT")]
    output: String,
    /// Do not print headers
    #[arg(long)]
    no_headers: bool,
}

pub(crate) async fn run(arguments: &Arguments, flags: &Flags) -> Result<(), Failure> {
    arguments.check()?;
    let connection = Connection::open(flags)?;
    if !arguments.cached {
        connection.discovery.invalidate();
    }
    let found = connection.discovery.discover().await?;
    let mut resources = found.preferred_resources();
    resources.retain(|(of, resource)| arguments.matches(of, resource));
    resources.sort_by(|(of, one), (other_of, other)| {
        let key = |of: &GroupVersion, resource: &ApiResource| match arguments.sort_by.as_str() {
            "name" => resource.name.clone(),
            "kind" => resource.kind.kind.clone(),
            _ => of.group.clone(),
        };
        (key(of, one), &one.name).cmp(&(key(other_of, other), &other.name))
    });
    print(arguments.format(&resources).as_bytes())?;
    // kubectl does not report stale versions either.
    let partial = found.partial().map(|mut partial| {
        partial.failures.retain(|_, error| !matches!(error, DiscoveryError::Stale(_)));
        partial
    });
    match partial.filter(|partial| !partial.failures.is_empty()) {
        Some(partial) => Err(Failure::of(&partial)),
        None => Ok(()),
    }
}

impl Arguments {
    fn check(&self) -> Result<(), Failure> {
        if !["", "name", "kind"].contains(&self.sort_by.as_str()) {
            return Err(Failure::error("--sort-by accepts only name or kind"));
        }
        match self.output.as_str() {
            "" | "wide" | "name" => Ok(()),
            other => Err(Failure::error(format!(
                "unable to match a printer suitable for the output format {other:?}, allowed formats are: name,wide"
            ))),
        }
    }

    fn matches(&self, of: &GroupVersion, resource: &ApiResource) -> bool {
        !resource.verbs.is_empty()
            && self.api_group.as_ref().is_none_or(|group| *group == of.group)
            && self.namespaced.is_none_or(|namespaced| namespaced == resource.namespaced)
            && self.verbs.iter().all(|verb| resource.can(verb))
            && self.categories.iter().all(|category| resource.categories.contains(category))
    }

    fn format(&self, resources: &[(GroupVersion, &ApiResource)]) -> String {
        if self.output == "name" {
            let name = |(of, resource): &(GroupVersion, &ApiResource)| match of.group.as_str() {
                "" => format!("{}\n", resource.name),
                group => format!("{}.{group}\n", resource.name),
            };
            return resources.iter().map(name).collect();
        }
        let is_wide = self.output == "wide";
        let mut out = TabWriter::default();
        if !self.no_headers {
            out.write("NAME\tSHORTNAMES\tAPIVERSION\tNAMESPACED\tKIND");
            out.write(if is_wide { "\tVERBS\tCATEGORIES\n" } else { "\n" });
        }
        for (of, resource) in resources {
            let short_names = resource.short_names.join(",");
            let (name, kind) = (&resource.name, &resource.kind.kind);
            out.write(&format!("{name}\t{short_names}\t{of}\t{}\t{kind}", resource.namespaced));
            if is_wide {
                out.write(&format!("\t{}\t{}", resource.verbs.join(","), resource.categories.join(",")));
            }
            out.write("\n");
        }
        out.flush();
        out.take()
    }
}
