import { STATUS_CODES } from 'node:http';
import { errorCatalogue } from '../../platform/errors.ts';

export type Node = Record<string, unknown>;

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Answer = Node & { description?: string; content?: Record<string, { schema: Node }> };
type Operation = { parameters?: Node[]; responses: Record<string, Answer> };

/** What is shorter (bytes of JSON) is not worth a reference. */
const minNamedBytes = 80;

const errorSchemaRef = '#/components/schemas/Error';

/** The operations of all paths. */
const operationsOf = (paths: Record<string, Node>): Operation[] =>
  Object.values(paths).flatMap((methods) => Object.values(methods) as Operation[]);

/**
 * Replaces the error answers of the operations, which all have one form, by references to one for each status.
 * @returns those answers, by the names of the statuses; each names its error codes
 */
export function nameErrorAnswers(paths: Record<string, Node>): Node {
  const named: Record<string, Answer> = {};
  for (const { responses } of operationsOf(paths)) {
    for (const [status, answer] of Object.entries(responses)) {
      if (answer.description === 'Default Response') answer.description = STATUS_CODES[status] ?? status;
      // The generator gives every answer a JSON body.
      if (/^(204|3..)$/.test(status)) delete answer.content;
      if (answer.content?.['application/json']?.schema.$ref !== errorSchemaRef) continue;
      const name = (STATUS_CODES[status] ?? status).replaceAll(' ', '');
      named[name] = { description: describeError(status), content: answer.content };
      responses[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  return named;
}

/** Replaces answers that repeat by references. @returns those answers, by the schema of what they hold */
export function nameAnswers(paths: Record<string, Node>): Node {
  const operations = operationsOf(paths);
  const nameOf = (status: string, { content }: Answer): string | undefined => {
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

/** `Not Found: not_found, …` */
function describeError(status: string): string {
  const codes = Object.entries(errorCatalogue).filter(([, error]) => error.status === Number(status));
  return `${STATUS_CODES[status]}: ${codes.map(([code]) => `\`${code}\``).join(', ')}.`;
}

/** Replaces parameters that several operations have by references. @returns the parameters by name */
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
    operation.parameters = operation.parameters.map((one) => references.get(JSON.stringify(one)) ?? one);
  return components;
}

/** @returns what comes more than once, by its name, further forms of it numbered; and references to it by its JSON */
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
