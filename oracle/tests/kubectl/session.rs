//! Session: runs kubectl commands against one server.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use watchkeeper_oracle::{CommandOutput, Kubectl};

use crate::Outcome;
use crate::normal::{normalize, without_descriptions};
use crate::transcript::{Action, Step, Transcript};

/// Time limit for a line of a background command.
const TIMEOUT: Duration = Duration::from_secs(60);

/// kubectl with a kubeconfig for one server and its own home directory.
pub(crate) struct Session {
    kubectl: Kubectl,
    home: PathBuf,
}

/// A background command and the lines that it has printed.
pub(crate) struct Background {
    child: Child,
    lines: Vec<String>,
}

impl Session {
    /// Creates a session whose files are below `home`.
    pub(crate) fn new(home: &Path, kubeconfig: &str) -> Outcome<Self> {
        fs::create_dir_all(home)?;
        let config = home.join("config");
        fs::write(&config, kubeconfig)?;
        Ok(Self { kubectl: Kubectl::new(&config, home)?, home: home.to_owned() })
    }

    /// Runs the commands of a transcript, and returns it with their output.
    pub(crate) async fn play(&self, script: &Transcript) -> Outcome<Transcript> {
        let mut played = Transcript::default();
        let mut background = None;
        for step in &script.steps {
            let output = match &step.action {
                Action::Run { line, input } => self.run(line, input).await?,
                Action::Start(line) => {
                    background = Some(self.start(line).await?);
                    Vec::new()
                }
                Action::Stop(lines) => {
                    let started = background.take().ok_or("no background command")?;
                    started.stop(*lines).await?
                }
            };
            played.steps.push(Step { output, ..step.clone() });
        }
        Ok(played)
    }

    fn command(&self, line: &str) -> Outcome<Command> {
        let mut words = words(line)?.into_iter();
        let program = words.next().unwrap_or_default();
        if program != "kubectl" {
            return Err(format!("{program:?} is not kubectl").into());
        }
        let mut command = self.kubectl.command(words);
        command
            .env("TZ", "UTC")
            .env("TMPDIR", "/tmp") // `diff` prints this path
            .env("KUBE_EDITOR", "sed -i s/before/after/")
            .current_dir(&self.home)
            .stderr(Stdio::piped());
        Ok(command)
    }

    /// Runs a command to completion, and returns its output and exit code as lines of a transcript.
    pub(crate) async fn run(&self, line: &str, input: &[String]) -> Outcome<Vec<String>> {
        let mut input: String = input.iter().flat_map(|line| [line, "\n"]).collect();
        if let Some(file) = words(line)?.into_iter().find(|word| word.ends_with(".yaml")) {
            fs::write(self.home.join(file), std::mem::take(&mut input))?;
        }
        let ended = match CommandOutput::of(self.command(line)?, &input).await {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Ok(vec!["= timed out".to_owned()]);
            }
            ended => ended?,
        };
        let mut output = lines("  ", &ended.out);
        output.extend(lines("! ", &ended.error));
        output.extend(code(ended.code));
        Ok(output)
    }

    /// Starts a command, and waits until it has printed its first line.
    pub(crate) async fn start(&self, line: &str) -> Outcome<Background> {
        let mut background = Background { child: self.command(line)?.spawn()?, lines: Vec::new() };
        background.read(|lines| !lines.is_empty()).await?;
        Ok(background)
    }
}

impl Background {
    /// Reads lines until `is_complete` returns true, the command closes its stdout, or the timeout expires.
    pub(crate) async fn read(&mut self, is_complete: impl Fn(&[String]) -> bool) -> Outcome<&[String]> {
        let stdout = self.child.stdout.as_mut().ok_or("stdout is not a pipe")?;
        while !is_complete(&self.lines) {
            match timeout(TIMEOUT, line(stdout)).await {
                Ok(Ok(Some(line))) => self.lines.push(line),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => {
                    self.lines.push("no further line: timed out".to_owned());
                    break;
                }
            }
        }
        Ok(&self.lines)
    }

    async fn stop(mut self, count: Option<usize>) -> Outcome<Vec<String>> {
        self.read(|lines| count.is_some_and(|count| lines.len() >= count)).await?;
        let ended = match count {
            None => timeout(TIMEOUT, self.child.wait()).await.ok().transpose()?,
            Some(_) => None,
        };
        self.child.kill().await?;
        let mut errors = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut errors).await?;
        }
        let mut output = lines("  ", &self.lines.join("\n"));
        output.extend(lines("! ", &errors));
        match (count, ended) {
            (None, Some(status)) => output.extend(code(status.code())),
            (None, None) => output.push("= timed out".to_owned()),
            (Some(_), _) => {}
        }
        Ok(output)
    }
}

/// Returns the transcript line for an exit code other than 0.
fn code(code: Option<i32>) -> Option<String> {
    match code {
        Some(0) => None,
        Some(code) => Some(format!("= {code}")),
        None => Some("= killed".to_owned()),
    }
}

/// Reads the next line, and not a byte more.
async fn line(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    BufReader::with_capacity(1, from).read_until(b'\n', &mut line).await?;
    let ended = line.is_empty();
    Ok((!ended).then(|| String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()))
}

/// Converts output to normalized lines of the transcript.
fn lines(mark: &str, printed: &str) -> Vec<String> {
    let printed = without_descriptions(printed);
    printed
        .lines()
        .map(|line| format!("{mark}{}", normalize(line)).trim_end().to_owned())
        .map(mark_empty)
        .collect()
}

/// Replaces an empty line, which the parser of transcripts would skip.
fn mark_empty(line: String) -> String {
    if line.is_empty() { "  .".to_owned() } else { line }
}

/// Splits a command line into words. Single and double quotes group a word; there are no other special characters.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    if quote.is_some() { Err(format!("unterminated quote: {line}")) } else { Ok(words) }
}
