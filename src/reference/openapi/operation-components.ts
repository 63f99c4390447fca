import { STATUS_CODES } from 'node:http';
import { errorStatuses } from '../../platform/errors.ts';

export type Node = Record<string, unknown>;

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type ResponseObject = Node & { description?: string; content?: Record<string, { schema: Node }> };
type Operation = { parameters?: Node[]; responses: Record<string, ResponseObject> };

/** Minimum size for a response to be replaced with a reference, in bytes of JSON. */
const minNamedBytes = 80;

const errorSchemaRef = '#/components/schemas/Error';

/** Returns the operations of all paths. */
const operationsOf = (paths: Record<string, Node>): Operation[] =>
  Object.values(paths).flatMap((methods) => Object.values(methods) as Operation[]);

/**
 * Replaces the error responses of all operations with references. There is one response per status, because error
 * responses have the same structure.
 * @returns these responses by status name, each with a list of its error codes
 */
export function nameErrorAnswers(paths: Record<string, Node>): Node {
  const components: Record<string, ResponseObject> = {};
  for (const { responses } of operationsOf(paths)) {
    for (const [status, answer] of Object.entries(responses)) {
      if (answer.description === 'Default Response') answer.description = STATUS_CODES[status] ?? status;
      // The generator adds a JSON body to every response. Remove it where the status allows no body.
      if (/^(204|3..)$/.test(status)) delete answer.content;
      if (answer.content?.['application/json']?.schema.$ref !== errorSchemaRef) continue;
      const name = (STATUS_CODES[status] ?? status).replaceAll(' ', '');
      components[name] = { description: describeError(status), content: answer.content };
      responses[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  return components;
}

/**
 * Replaces repeated responses with references.
 * @returns these responses, by the name of their body schema
 */
export function nameAnswers(paths: Record<string, Node>): Node {
  const operations = operationsOf(paths);
  const nameOf = (status: string, { content }: ResponseObject): string | undefined => {
    const schema = content?.['application/json']?.schema.$ref;
    const name = content?.['image/png'] === undefined ? schema : 'Image';
    return typeof name === 'string' ? name.replace(/.*\//, '') + (status === '200' ? '' : status) : undefined;
  };
  const all = operations.flatMap(({ responses }) =>
    Object.entries(responses).map(([status, value]) => ({ name: nameOf(status, value), value })),
  );
  const { components, references } = nameRepeated('responses', all);
  for (const { responses } of operations)
    for (const [status, answer] of Object.entries(responses))
      responses[status] = references.get(JSON.stringify(answer)) ?? answer;
  return components;
}

/** Returns the description of an error response, such as `Not Found: not_found, …`. */
function describeError(status: string): string {
  const codes = Object.entries(errorStatuses).filter(([, codeStatus]) => codeStatus === Number(status));
  return `${STATUS_CODES[status]}: ${codes.map(([code]) => `\`${code}\``).join(', ')}.`;
}

/**
 * Replaces parameters that several operations use with references.
 * @returns the parameters by name
 */
export function nameParameters(paths: Record<string, Node>): Node {
  const operations = operationsOf(paths).filter(({ parameters }) => parameters !== undefined) as Required<Operation>[];
  for (const operation of operations)
    operation.parameters = operation.parameters.map(({ required, ...rest }) => ({
      ...rest,
      ...(required === true && { required }),
    }));
  const all = operations.flatMap(({ parameters }) => parameters.map((value) => ({ name: String(value.name), value })));
  const { components, references } = nameRepeated('parameters', all);
  for (const operation of operations)
    operation.parameters = operation.parameters.map(
      (parameter) => references.get(JSON.stringify(parameter)) ?? parameter,
    );
  return components;
}

/**
 * Assigns names to repeated values.
 * @returns the repeated values by name, with variants numbered, and the references by the JSON of the value
 */
function nameRepeated(section: string, all: { name: string | undefined; value: Node }[]) {
  const forms = new Map<string, { name: string | undefined; value: Node; uses: number }>();
  for (const { name, value } of all) {
    const text = JSON.stringify(value);
    forms.set(text, { name, value, uses: (forms.get(text)?.uses ?? 0) + 1 });
  }
  const components: Node = {};
  const references = new Map<string, Node>();
  const formsOf = new Map<string, number>();
  for (const [text, { name, value, uses }] of [...forms].sort(([, a], [, b]) => b.uses - a.uses)) {
    if (uses === 1 || name === undefined || text.length < minNamedBytes) continue;
    const number = (formsOf.get(name) ?? 0) + 1;
    formsOf.set(name, number);
    const component = number === 1 ? name : `${name}.${number}`;
    components[component] = value;
    references.set(text, { $ref: `#/components/${section}/${component}` });
  }
  return { components, references };
}
