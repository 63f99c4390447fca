import type { App } from '../../platform/ports.ts';
import { type LiveExamples, withValues } from '../live-examples.ts';
import type { ApiDocument } from './example-request.ts';
import { type Examples, readExamples } from './examples.ts';

/**
 * The description of the routes, as the API reference shows it.
 * @param live in the demo: what its examples name there. Describing them only reads.
 */
export function createDescription(app: App, live: LiveExamples | null): () => Promise<ApiDocument> {
  const described = () => app.swagger() as unknown as ApiDocument;
  if (live === null) return async () => described();
  const examples = readExamples();
  // Without a database the examples are those that are recorded.
  return async () => withLiveValues(described(), examples, await live.values().catch(() => ({})));
}

/** Each operation's example with the values that it names in `live`. */
const withLiveValues = (document: ApiDocument, { requests }: Examples, values: Record<string, string>): ApiDocument =>
  withValues(document, (operationId) =>
    Object.fromEntries(
      Object.entries(requests[operationId]?.live ?? {}).flatMap(([place, name]) => {
        const value = values[name];
        return value === undefined ? [] : [[place, value]];
      }),
    ),
  );
