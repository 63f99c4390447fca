import { readFileSync } from 'node:fs';
import { describedAs } from '../../platform/http/schemas.ts';
import type { Node } from './operation-components.ts';

/**
 * Example values for an operation, by parameter name. `live` says which of them are replaced with current values in the
 * demo, by parameter name or by location in the body; see `live-examples.ts`.
 */
type ExampleRequest = {
  path?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
  live?: Record<string, string>;
};

export type Examples = {
  /** Example requests by operationId. `*` contains parameter values for operations that have none of their own. */
  requests: Record<string, ExampleRequest>;
  /**
   * Bodies of 2xx responses, recorded by `npm run openapi`. The key is the schema name, or else `operationId status`.
   */
  answers: Record<string, unknown>;
};

const folder = new URL('../../../assets/openapi/', import.meta.url);
const readJson = (file: string) => JSON.parse(readFileSync(new URL(file, folder), 'utf8'));

export const readExamples = (): Examples => ({
  requests: readJson('requests.json'),
  answers: readJson('answers.json'),
});

type Parameter = Node & { in: string; name: string; schema?: Node };
type Media = Record<string, Node>;
type Operation = {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Media };
  responses: Record<string, { content?: Media }>;
};

/**
 * Adds examples to the schemas of parameters, bodies and responses. The example of a named schema becomes a component.
 */
export function addExamples<Document extends { paths?: object; components?: object }>(
  document: Document,
  examples: Examples,
): Document {
  const paths = (document.paths ?? {}) as Record<string, Record<string, Operation>>;
  const namedAnswers = Object.entries(examples.answers).filter(([name]) => !name.includes(' '));
  return {
    ...document,
    paths: mapValues(paths, (methods) => mapValues(methods, (operation) => withExamples(operation, examples))),
    components: {
      ...document.components,
      examples: Object.fromEntries(namedAnswers.map(([name, value]) => [name, { value }])),
    },
  };
}

const mapValues = <From, To>(record: Record<string, From>, change: (value: From, name: string) => To) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));

function withExamples(operation: Operation, { requests, answers }: Examples): Operation {
  const { operationId, parameters, requestBody, responses } = operation;
  const request = requests[operationId] ?? {};
  const general = requests['*'] ?? {};
  const exampleOf = ({ in: place, name }: Parameter): string | undefined => {
    const part = place === 'header' ? 'headers' : (place as 'path' | 'query');
    return request[part]?.[name] ?? general[part]?.[name];
  };
  const jsonExample = (content: Media, example: unknown): Media =>
    mapValues(content, (media, type) => (/^(application\/json|text\/csv)/.test(type) ? { ...media, example } : media));
  return {
    ...operation,
    ...(parameters && {
      parameters: parameters.map((parameter) => {
        const example = exampleOf(parameter);
        return example === undefined ? parameter : { ...parameter, example: typedExample(parameter, example) };
      }),
    }),
    ...(requestBody &&
      request.body !== undefined && {
        requestBody: { ...requestBody, content: jsonExample(requestBody.content, request.body) },
      }),
    responses: mapValues(responses, (answer, status) => {
      const media = answer.content?.['application/json'];
      if (!status.startsWith('2') || media === undefined) return answer;
      const name = (media.schema as Node | undefined)?.title;
      const $ref = `#/components/examples/${String(name)}`;
      const example = answers[`${operationId} ${status}`];
      const exampleFields =
        name === undefined ? example !== undefined && { example } : { examples: { demo: { $ref } } };
      return { ...answer, content: { ...answer.content, 'application/json': { ...media, ...exampleFields } } };
    }),
  };
}

/** Converts an example value to the type in the parameter's schema. */
function typedExample({ schema }: Parameter, example: string): unknown {
  const { type } = (schema?.[describedAs] ?? schema ?? {}) as Node;
  if (type === 'integer') return Number(example);
  return type === 'boolean' ? example === 'true' : example;
}
