// Health: what a row's cells say of how its object does, in the four words that the owner tree uses.

export const LEVELS = ["healthy", "progressing", "degraded", "unknown"];

const GOOD = /^(Running|Succeeded|Completed|Complete|Active|Bound|Available|Ready|Established|True|Healthy)$/;
const BAD = /Err|BackOff|Fail|Evicted|OOMKilled|Invalid|Lost|NotReady|Unhealthy|CrashLoop|NodeLost|Deadline|DisruptionTarget/;
const SHARE = /^(\d+)\/(\d+)$/;

/** The level that a status word means. */
export function levelOf(status) {
  if (GOOD.test(status)) return "healthy";
  if (BAD.test(status)) return "degraded";
  return status === "" || status === "Unknown" ? "unknown" : "progressing";
}

/** Makes the function that reads a level from the cells of these columns; null where they tell of none. */
export function healthReader(columns, resource) {
  const at = (name) => columns.findIndex((column) => column.name === name);
  const [status, ready, desired, type] = [at("Status"), at("Ready"), at("Desired"), at("Type")];
  if (resource === "events" && type >= 0) return (cells) => (cells[type] === "Warning" ? "degraded" : "healthy");
  if (status >= 0 && ready >= 0) {
    return (cells) => {
      const level = levelOf(String(cells[status] ?? ""));
      const share = SHARE.exec(cells[ready]);
      return level === "healthy" && cells[status] === "Running" && share && share[1] !== share[2] ? "progressing" : level;
    };
  }
  if (status >= 0) return (cells) => levelOf(String(cells[status] ?? "").split(",")[0]);
  if (ready >= 0 && desired >= 0) return (cells) => (cells[ready] >= cells[desired] ? "healthy" : "progressing");
  if (ready >= 0) {
    return (cells) => {
      const share = SHARE.exec(cells[ready]);
      if (share) return Number(share[1]) >= Number(share[2]) ? "healthy" : "progressing";
      return cells[ready] === "True" ? "healthy" : cells[ready] === "False" ? "degraded" : "unknown";
    };
  }
  return null;
}
