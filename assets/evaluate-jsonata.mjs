// Evaluates JSONata expressions (src/webhooks/transformations/evaluators.ts). Runs as a separate process without
// environment variables and without access to files. The parent process kills it if it takes too long.
import jsonata from 'jsonata';

// `stack` reports a deep recursion with its position, before it uses up the memory. `timeout`, in milliseconds, ends
// the process's work if the parent process no longer runs.
const options = { stack: 500, timeout: 10_000 };
const maxCompiled = 500;
const compiled = new Map();

/** Compiles an expression. Recently compiled expressions are reused. */
function compile(text) {
  const cached = compiled.get(text);
  if (cached !== undefined) return cached;
  const expression = jsonata(text, options);
  if (compiled.size >= maxCompiled) compiled.delete(compiled.keys().next().value);
  compiled.set(text, expression);
  return expression;
}

/** Error of a result that cannot be sent. */
const refuse = (message) => {
  throw Object.assign(new Error(message), { position: null });
};

/** Runs one step for a part of the transformation, and adds the part to its error. */
async function inPart(part, step) {
  try {
    return await step();
  } catch ({ message, position }) {
    const failed = { reason: 'expression', part, message: String(message), position: position ?? null };
    throw Object.assign(new Error(), { failed });
  }
}

/** Omits functions, which have no JSON representation. */
const withoutFunctions = (_key, value) =>
  typeof value === 'function' || value?._jsonata_lambda === true || value?._jsonata_function === true
    ? undefined
    : value;

/** Evaluates the body. Text is sent as it is, and any other value as JSON. */
async function bodyOf(text, input, values, maxBytes) {
  const result = await compile(text).evaluate(input, { ...values });
  const isText = typeof result === 'string';
  const body = isText ? result : JSON.stringify(result, withoutFunctions);
  if (body === undefined) refuse('the expression returned no value');
  const bytes = Buffer.byteLength(body);
  if (bytes > maxBytes) refuse(`the result has ${bytes} bytes; the limit is ${maxBytes}`);
  return { body, isText };
}

/** Evaluates the headers. Null omits a header; numbers and booleans become text. */
async function headersOf(text, input, values) {
  const result = await compile(text).evaluate(input, { ...values });
  if (result === undefined) return {};
  if (typeof result !== 'object' || result === null || Array.isArray(result))
    refuse('the expression must return an object of header names and values');
  const entries = Object.entries(result).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    if (typeof value === 'object' || typeof value === 'function')
      refuse(`the value of the header “${name.slice(0, 100)}” must be text`);
    return [[name, String(value)]];
  });
  return Object.fromEntries(entries);
}

/** Evaluates a transformation. Each expression gets its own copy of the payload, because expressions can change it. */
async function evaluate({ transformation: { body, headers }, input, values, maxBytes }) {
  if (body !== undefined) await inPart('body', () => compile(body));
  if (headers !== undefined) await inPart('headers', () => compile(headers));
  if (input === null) return { body: null, isText: false, headers: {} };
  const result =
    body === undefined
      ? { body: null, isText: false }
      : await inPart('body', () => bodyOf(body, JSON.parse(input), values, maxBytes));
  const headerValues =
    headers === undefined ? {} : await inPart('headers', () => headersOf(headers, JSON.parse(input), values));
  return { ...result, headers: headerValues };
}

// An expression that reaches a built-in object cannot change it for the expressions of other publishers.
for (const { prototype } of [Object, Array, Function, String, Number, Boolean, RegExp, Promise, Map, Set, Date])
  Object.freeze(prototype);

process.on('message', async (request) => {
  process.send(
    await evaluate(request).catch((err) => {
      if (err.failed === undefined) throw err;
      return { failed: err.failed };
    }),
  );
});
process.send('ready');
