// YAML: formats an object as `kubectl get -o yaml` does: keys in natural order, lists not indented below their key, strings
// quoted only if necessary, long ones folded after 80 columns.

const WIDTH = 80;

/** The YAML of an object. managedFields are omitted by default. */
export function yaml(object, { managedFields = false } = {}) {
  const shown = managedFields ? object : withoutManagedFields(object);
  const out = [];
  if (isEmpty(shown) || typeof shown !== "object") return `${scalar(shown, 0, 0)}\n`;
  if (Array.isArray(shown)) writeList(shown, 0, out);
  else writeMap(shown, 0, out);
  return `${out.join("\n")}\n`;
}

function withoutManagedFields(object) {
  if (!object?.metadata?.managedFields) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function isEmpty(value) {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

function writeMap(map, indent, out) {
  const pad = " ".repeat(indent);
  for (const key of Object.keys(map).sort(naturally)) {
    const value = map[key];
    const head = `${pad}${scalar(key, 0, 0, true)}:`;
    if (isEmpty(value) || typeof value !== "object") out.push(`${head} ${scalar(value, indent, head.length + 1)}`);
    else if (Array.isArray(value)) {
      out.push(head);
      writeList(value, indent, out);
    } else {
      out.push(head);
      writeMap(value, indent + 2, out);
    }
  }
}

function writeList(list, indent, out) {
  const pad = " ".repeat(indent);
  for (const item of list) {
    if (isEmpty(item) || typeof item !== "object") {
      out.push(`${pad}- ${scalar(item, indent, indent + 2)}`);
      continue;
    }
    const inner = [];
    if (Array.isArray(item)) writeList(item, indent + 2, inner);
    else writeMap(item, indent + 2, inner);
    inner[0] = `${pad}- ${inner[0].slice(indent + 2)}`;
    for (const line of inner) out.push(line);
  }
}

/** Formats a value on its line. `column` is where it starts, `indent` where its parent starts. */
function scalar(value, indent, column, isKey = false) {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "[]";
  if (typeof value === "object") return "{}";
  if (typeof value !== "string") return String(value);
  return text(value, indent, column, isKey);
}

function text(value, indent, column, isKey) {
  const can = analyse(value);
  if (value.includes("\n")) return can.block && !isKey ? literal(value, indent) : doubled(value, indent, column, isKey);
  if (looksLikeAnother(value)) return doubled(value, indent, column, isKey);
  if (can.plain) return fold(value, indent, column, isKey);
  if (can.single) return fold(`'${value.replaceAll("'", "''")}'`, indent, column, isKey);
  return doubled(value, indent, column, isKey);
}

const UNPRINTABLE = /[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;
const BREAK = "[\\n\\r\\x85\\u2028\\u2029]";
const AFTER = "([ \\t\\n\\r\\x85\\u2028\\u2029]|$)";
const INDICATOR = new RegExp(`^[#,[\\]{}&*!|>'"%@\`]|^[-?:]${AFTER}|:${AFTER}|[ \\t\\n\\r\\x85\\u2028\\u2029]#|^---|^\\.\\.\\.`);
const SPACE_THEN_BREAK = new RegExp(` ${BREAK}`);
const BREAK_THEN_SPACE = new RegExp(`${BREAK} `);
const EDGED = new RegExp(`^ | $|${BREAK}`);

/** The styles in which a string can be written. */
function analyse(value) {
  const safe = !UNPRINTABLE.test(value) && !SPACE_THEN_BREAK.test(value);
  const single = safe && !BREAK_THEN_SPACE.test(value);
  return { block: safe && !value.endsWith(" "), single, plain: single && !INDICATOR.test(value) && !EDGED.test(value) };
}

const WORDS = new Set(("y Y yes Yes YES true True TRUE on On ON n N no No NO false False FALSE off Off OFF " +
  "~ null Null NULL .nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF").split(" "));
const NUMBERS = [
  /^[-+]?[0-9][0-9_]*$/,
  /^[-+]?0[xX][0-9a-fA-F_]+$/,
  /^[-+]?0[oO]?[0-7_]+$/,
  /^[-+]?0b[01_]+$/,
  /^[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$/,
  /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/,
];
const TIME = /^\d{4}-\d{1,2}-\d{1,2}([Tt ]+\d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?( *(Z|[-+]\d{1,2}(:\d{2})?))?)?$/;

/** Whether a plain string would be parsed as null, a boolean, a number or a time. */
function looksLikeAnother(value) {
  return value === "" || WORDS.has(value) || NUMBERS.some((number) => number.test(value)) || TIME.test(value);
}

function literal(value, indent) {
  const pad = " ".repeat(indent + 2);
  const hint = /^[ \n]/.test(value) ? "2" : "";
  const chomp = !value.endsWith("\n") ? "-" : value === "\n" || value.endsWith("\n\n") ? "+" : "";
  const lines = value.split("\n");
  if (value.endsWith("\n")) lines.pop();
  return [`|${hint}${chomp}`, ...lines.map((line) => (line === "" ? "" : pad + line))].join("\n");
}

/** Breaks at the first single space after the width is exceeded. */
function fold(line, indent, column, isKey) {
  if (isKey || column + line.length <= WIDTH) return line;
  const pad = " ".repeat(indent + 2);
  let out = "";
  let at = column;
  for (let i = 0; i < line.length; i++) {
    const alone = line[i] === " " && line[i - 1] !== " " && line[i + 1] !== " ";
    if (alone && at > WIDTH && i > 0 && i < line.length - 1) {
      out += `\n${pad}`;
      at = pad.length;
    } else {
      out += line[i];
      at++;
    }
  }
  return out;
}

const ESCAPES = { "\0": "\\0", "\x07": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r",
  "\x1b": "\\e", '"': '\\"', "\\": "\\\\", "\x85": "\\N", "\u2028": "\\L", "\u2029": "\\P" };

function doubled(value, indent, column, isKey) {
  const pad = " ".repeat(indent + 2);
  let out = '"';
  let at = column + 1;
  let afterSpace = false;
  const characters = [...value];
  characters.forEach((character, i) => {
    if (character === " " && !afterSpace && !isKey && at > WIDTH && i > 0 && i < characters.length - 1) {
      out += `\n${pad}${characters[i + 1] === " " ? "\\" : ""}`;
      at = pad.length;
      afterSpace = true;
      return;
    }
    const written = ESCAPES[character] ?? (UNPRINTABLE.test(character) ? escaped(character) : character);
    out += written;
    at += written.length;
    afterSpace = character === " ";
  });
  return `${out}"`;
}

function escaped(character) {
  const code = character.codePointAt(0);
  const hex = (digits) => code.toString(16).toUpperCase().padStart(digits, "0");
  if (code <= 0xff) return `\\x${hex(2)}`;
  return code <= 0xffff ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}

const isLetter = (character) => /\p{L}/u.test(character);
const leadingNumber = (text) => /^\d*/.exec(text)[0];

/** Compares names naturally: digits by value, other characters before letters. */
function naturally(a, b) {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  if (i === a.length || i === b.length) return a.length - b.length;
  const letters = [isLetter(a[i]), isLetter(b[i])];
  if (letters[0] !== letters[1]) return letters[0] ? 1 : -1;
  if (!letters[0]) {
    const shared = /\d*$/.exec(a.slice(0, i))[0];
    const [x, y] = [leadingNumber(a.slice(i)), leadingNumber(b.slice(i))];
    const lead = /[1-9]/.test(shared) ? "1" : "";
    const [m, n] = [Number(lead + x || 0), Number(lead + y || 0)];
    if (m !== n) return m - n;
    if (x.length !== y.length) return x.length - y.length;
  }
  return a[i] < b[i] ? -1 : 1;
}
