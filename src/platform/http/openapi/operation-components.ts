import { STATUS_CODES } from 'node:http';
import { errorCatalogue } from '../../errors.ts';

export type Node = Record<string, unknown>;
type Answer = Node & { description?: string; content?: Record<string, { schema: Node }> };
type Operation = { tags?: string[]; parameters?: Node[]; responses: Record<string, Answer> };

const errorSchemaRef = '#/components/schemas/Error';

/** Errors that every operation may answer: said once, as `default`. */
const generalErrors = ['429', '500', '503'];

/** The operations of all paths. */
const operationsOf = (paths: Record<string, Node>): Operation[] =>
  Object.values(paths).flatMap((methods) => Object.values(methods) as Operation[]);

/** The tags of all operations, in the order in which they come first. */
export const tagsOf = (paths: Record<string, Node>): string[] => [
  ...new Set(operationsOf(paths).flatMap(({ tags }) => tags ?? [])),
];

/** Replaces the error answers of the operations by references. @returns those answers, by status or `default` */
export function nameErrorAnswers(paths: Record<string, Node>): Node {
  const components: Node = {};
  for (const { responses } of operationsOf(paths)) {
    for (const [status, answer] of Object.entries(responses)) {
      if (answer.description === 'Default Response') answer.description = STATUS_CODES[status] ?? status;
      // The generator gives every answer a JSON body.
      if (/^(204|3..)$/.test(status)) delete answer.content;
      if (answer.content?.['application/json']?.schema.$ref !== errorSchemaRef) continue;
      const name = generalErrors.includes(status) ? 'default' : status;
      const statuses = name === 'default' ? generalErrors : [status];
      components[name] ??= { ...answer, description: statuses.map(describeError).join(' ') };
      delete responses[status];
      responses[name] = { $ref: `#/components/responses/${name}` };
    }
  }
  return components;
}

/** `404 Not Found: not_found, …` */
function describeError(status: string): string {
  const codes = Object.entries(errorCatalogue).filter(([, error]) => error.status === Number(status));
  return `${status} ${STATUS_CODES[status]}: ${codes.map(([code]) => `\`${code}\``).join(', ')}.`;
}

/**
 * Replaces parameters that several operations have by references; of parameters of the same name, those of the most
 * frequent form. @returns the parameters by name
 */
export function nameParameters(paths: Record<string, Node>): Node {
  const operations = operationsOf(paths).filter(({ parameters }) => parameters !== undefined) as Required<Operation>[];
  const forms = new Map<string, { parameter: Node; uses: number }>();
  for (const operation of operations) {
    operation.parameters = operation.parameters.map(({ required, ...rest }) => ({
      ...rest,
      ...(required === true && { required }),
    }));
    for (const parameter of operation.parameters) {
      const text = JSON.stringify(parameter);
      forms.set(text, { parameter, uses: (forms.get(text)?.uses ?? 0) + 1 });
    }
  }
  const components: Node = {};
  const references = new Map<string, Node>();
  const repeated = [...forms].filter(([, { uses }]) => uses > 1).sort(([, a], [, b]) => b.uses - a.uses);
  for (const [text, { parameter }] of repeated) {
    const name = String(parameter.name);
    if (name in components) continue;
    components[name] = parameter;
    references.set(text, { $ref: `#/components/parameters/${name}` });
  }
  for (const operation of operations)
    operation.parameters = operation.parameters.map((one) => references.get(JSON.stringify(one)) ?? one);
  return components;
}
