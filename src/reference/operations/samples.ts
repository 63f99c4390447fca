import type { ExampleRequest } from '../openapi/example-request.ts';

export type Sample = { name: string; language: string; text: string };

/** Returns code samples of a call in each language of the API reference. Each sample is a complete program. */
export const samplesOf = (request: ExampleRequest, baseUrl: string): Sample[] => {
  const call: Call = { ...request, url: `${baseUrl}${request.url}`, body: bodyOf(request) };
  return [
    { name: 'curl', language: 'sh', text: curl(call) },
    { name: 'TypeScript', language: 'ts', text: typescript(call) },
    { name: 'Python', language: 'python', text: python(call) },
    { name: 'PHP', language: 'php', text: php(call) },
    { name: 'Go', language: 'go', text: go(call) },
  ];
};

/** Call to generate samples for. `body` is undefined if there is no body, and a string if it is not JSON. */
type Call = Omit<ExampleRequest, 'payload'> & { body: object | string | undefined };

function bodyOf({ payload, headers }: ExampleRequest): Call['body'] {
  if (payload === undefined) return undefined;
  return headers['content-type'] === 'application/json' ? JSON.parse(payload) : payload;
}

const indent = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`);
const pretty = (value: unknown, by = ''): string => indent(JSON.stringify(value, null, 2), by);
const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function curl({ method, url, headers, body }: Call): string {
  const headerArguments = Object.entries(headers).map(
    ([name, value]) => `-H ${shellQuote(`${headerName(name)}: ${value}`)}`,
  );
  const verb = method === 'GET' ? '' : `-X ${method} `;
  const data = [
    ...(typeof body === 'string' ? [`--data-binary ${shellQuote(body)}`] : []),
    ...(typeof body === 'object' ? [`-d ${shellQuote(pretty(body))}`] : []),
  ];
  return [`curl ${verb}${shellQuote(url)}`, ...headerArguments, ...data].join(' \\\n  ');
}

/** Capitalises a header name, such as `content-type` to `Content-Type`. */
const headerName = (name: string): string => name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());

function typescript({ method, url, headers, body }: Call): string {
  const fields = [
    ...(method === 'GET' ? [] : [`method: ${quote(method)},`]),
    ...objectOf(
      'headers: {',
      headers,
      ({ name, value }) => `${/^\w+$/.test(name) ? name : quote(name)}: ${quote(value)}`,
      '},',
    ),
    ...(typeof body === 'string' ? [`body: ${JSON.stringify(body)},`] : []),
    ...(typeof body === 'object' ? [`body: JSON.stringify(${indent(plainKeys(body), '  ')}),`] : []),
  ];
  const options = fields.length === 0 ? '' : `, {\n${fields.map((field) => `  ${field}`).join('\n')}\n}`;
  return `const response = await fetch(${quote(url)}${options});\nconsole.log(response.status, await response.text());`;
}

/** Formats JSON as a TypeScript literal, with unquoted keys where possible. */
const plainKeys = (value: unknown): string => pretty(value).replace(/^(\s*)"([a-z_]\w*)":/gim, '$1$2:');

function python({ method, url, headers, body }: Call): string {
  const fields = [
    ...objectOf(
      'headers={',
      headers,
      ({ name, value }) => `${quote(name)}: ${quote(value)}`,
      '},',
      typeof body === 'string' ? undefined : without('content-type'),
    ),
    ...(typeof body === 'string' ? [`data=${JSON.stringify(body)},`] : []),
    ...(typeof body === 'object' ? [`json=${indent(pythonLiteral(body), '    ')},`] : []),
  ].map((line) => `    ${line}`);
  const call = [`response = requests.${method.toLowerCase()}(`, `    ${quote(url)},`, ...fields, ')'];
  return ['import requests', '', ...call, 'print(response.status_code, response.text)'].join('\n');
}

const without =
  (excluded: string) =>
  (name: string): boolean =>
    name !== excluded;

const pythonLiteral = (value: unknown): string =>
  literal(value, { open: '{', close: '}', colon: ': ', words: { true: 'True', false: 'False', null: 'None' } });

const phpLiteral = (value: unknown): string => literal(value, { open: '[', close: ']', colon: ' => ', words: {} });

type Dialect = { open: string; close: string; colon: string; words: Record<string, string> };

/** Formats a JSON value as a literal in the given language. */
function literal(value: unknown, dialect: Dialect): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object' || value === null) return dialect.words[String(value)] ?? String(value);
  const parts = Array.isArray(value)
    ? value.map((item) => literal(item, dialect))
    : Object.entries(value).map(([name, item]) => `${quote(name)}${dialect.colon}${literal(item, dialect)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : [dialect.open, dialect.close];
  if (parts.length === 0) return dialect.open === '[' && !Array.isArray(value) ? 'new stdClass()' : `${open}${close}`;
  return `${open}\n    ${indent(parts.join(',\n'), '    ')},\n${close}`;
}

function php({ method, url, headers, body }: Call): string {
  const headerLines = Object.entries(headers).map(
    ([name, value]) => `        ${quote(`${headerName(name)}: ${value}`)},`,
  );
  const lines = [
    ...(method === 'GET' ? [] : [`    CURLOPT_CUSTOMREQUEST => ${quote(method)},`]),
    ...(headerLines.length === 0 ? [] : ['    CURLOPT_HTTPHEADER => [', ...headerLines, '    ],']),
    ...(typeof body === 'string' ? [`    CURLOPT_POSTFIELDS => ${JSON.stringify(body)},`] : []),
    ...(typeof body === 'object'
      ? [`    CURLOPT_POSTFIELDS => json_encode(${indent(phpLiteral(body), '    ')}),`]
      : []),
    '    CURLOPT_RETURNTRANSFER => true,',
  ];
  const start = ['<?php', `$curl = curl_init(${quote(url)});`, 'curl_setopt_array($curl, ['];
  return [...start, ...lines, ']);', 'echo curl_exec($curl);'].join('\n');
}

function go({ method, url, headers, body }: Call): string {
  const text = typeof body === 'object' ? pretty(body) : (body ?? '');
  const raw = text.includes('`') ? JSON.stringify(text) : `\`${text}\``;
  const reader = body === undefined ? 'nil' : `strings.NewReader(${raw})`;
  const imports = ['fmt', 'io', 'net/http', ...(body === undefined ? [] : ['strings'])];
  const lines = [
    `request, err := http.NewRequest(${JSON.stringify(method)}, ${JSON.stringify(url)}, ${reader})`,
    ...failure,
    ...Object.entries(headers).map(
      ([name, value]) => `request.Header.Set(${JSON.stringify(headerName(name))}, ${JSON.stringify(value)})`,
    ),
    'response, err := http.DefaultClient.Do(request)',
    ...failure,
    'defer response.Body.Close()',
    'answer, _ := io.ReadAll(response.Body)',
    'fmt.Println(response.Status, string(answer))',
  ];
  const start = ['package main', '', 'import (', ...imports.map((path) => `\t"${path}"`), ')', '', 'func main() {'];
  return [...start, ...lines.map((line) => `\t${line}`), '}'].join('\n');
}

const failure = ['if err != nil {', '\tpanic(err)', '}'];

/** Returns the lines of an object literal with the headers, or no lines if there are no headers. */
function objectOf(
  open: string,
  headers: Record<string, string>,
  entry: (header: { name: string; value: string }) => string,
  close: string,
  keep: (name: string) => boolean = () => true,
): string[] {
  const selected = Object.entries(headers).filter(([name]) => keep(name));
  return selected.length === 0 ? [] : [open, ...selected.map(([name, value]) => `  ${entry({ name, value })},`), close];
}
