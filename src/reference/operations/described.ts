import { type ApiDocument, operationsById, parametersOf } from '../openapi/example-request.ts';
import type { Node } from '../openapi/operation-components.ts';
import { tagGroups } from '../openapi/tags.ts';

type OperationEntry = ReturnType<typeof operationsById> extends Map<string, infer Value> ? Value : never;
type Parameter = ReturnType<typeof parametersOf>[number] & { description?: string; schema: Node };
export type ResponseDescription = { status: string; description: string; schema: Node | null; example: unknown };

/** Operation with all the data that its section of the API reference shows. Schemas may contain references. */
export type Described = OperationEntry & {
  id: string;
  summary: string;
  description: string;
  tag: string;
  parameters: Parameter[];
  body: { schema: Node; isRequired: boolean; example: unknown } | null;
  answers: ResponseDescription[];
  /** Kind of key that the operation requires, or null if it requires no key. */
  scheme: 'bearer' | 'operator' | null;
};

export type DescribedTag = { name: string; slug: string; description: string; operations: Described[] };

/** Input for rendering the API reference pages. */
export type Reader = {
  document: ApiDocument;
  /** API keys by security scheme: in the demo, its keys; otherwise, placeholders that the reader replaces. */
  keys: Record<string, string>;
  publicUrl: string;
  isDemo: boolean;
};

const json = 'application/json';
type Media = { schema: Node; example?: unknown; examples?: { demo: { $ref: string } } };

/** Resolves a reference. Schemas that are not references are returned unchanged. */
export function resolve(document: ApiDocument, { $ref, ...beside }: Node): Node {
  if (typeof $ref !== 'string') return beside;
  let target: unknown = document;
  for (const part of $ref.slice(2).split('/')) target = (target as Node)[part];
  return { ...resolve(document, target as Node), ...beside };
}

/** Returns all operations by group and tag, in the order of the API reference. */
export function describeOperations(document: ApiDocument): { title: string; tags: DescribedTag[] }[] {
  const all = [...operationsById(document).values()].map((entry) => describe(document, entry));
  return tagGroups.map(({ title, tags }) => ({
    title,
    tags: tags.map(({ name, description }) => ({
      name,
      description,
      slug: name.toLowerCase().replaceAll(' ', '-'),
      operations: all.filter(({ tag }) => tag === name),
    })),
  }));
}

function describe(document: ApiDocument, entry: OperationEntry): Described {
  const { operationId, summary, description, tags, requestBody, security, responses } =
    entry.operation as typeof entry.operation & {
      summary: string;
      description: string;
      tags: string[];
      requestBody?: { required?: boolean; content: Record<string, Media> };
    };
  const [media] = Object.values(requestBody?.content ?? {});
  const schemes = (security ?? [{ bearer: [] }]).flatMap((requirement) => Object.keys(requirement));
  return {
    ...entry,
    id: operationId,
    summary,
    description,
    tag: tags[0] ?? '',
    parameters: parametersOf(document, entry.operation) as Parameter[],
    body: media
      ? { schema: media.schema, isRequired: requestBody?.required === true, example: exampleOf(document, media) }
      : null,
    answers: Object.entries(responses).map(([status, answer]) => answerOf(document, status, answer as Node)),
    scheme: schemes.includes('operator') ? 'operator' : schemes.includes('bearer') ? 'bearer' : null,
  };
}

function answerOf(document: ApiDocument, status: string, reference: Node): ResponseDescription {
  const { description = '', content = {} } = resolve(document, reference) as {
    description?: string;
    content?: Record<string, Media>;
  };
  const media = content[json];
  return { status, description, schema: media?.schema ?? null, example: media && exampleOf(document, media) };
}

function exampleOf(document: ApiDocument, { example, examples }: Media): unknown {
  return examples === undefined ? example : resolve(document, examples.demo).value;
}
