import { type TObject, Type } from '@sinclair/typebox';
import { problemText } from '../platform/http/schemas.ts';
import { type AllAdditions, shownSchema, warningsBeside, withAdditions } from './additions.ts';
import { type Resource, schemaNameOf, type View, type Warning } from './resource.ts';
import { etagOf } from './rows.ts';
import type { Work } from './unit-of-work.ts';

export const warningSchema = Type.Array(Type.Object({ path: Type.String(), message: problemText }), {
  title: 'Warnings',
  description: 'Suggestions for the saved values, such as a text that is longer than the ideal length.',
});

type Added = { additions: AllAdditions };

/** Returns the response schema for a single row. */
export const answerOf = ({ additions }: Added, resource: Resource): TObject =>
  Type.Object(
    { message: Type.String(), data: shownSchema(additions, resource), warnings: warningSchema },
    { title: `${schemaNameOf(resource)}Answer` },
  );

/** Returns a response with a row and its ETag. */
export async function rowAnswer({ additions }: Added, resource: Resource, work: Work, view: View, outcome: Outcome) {
  const [data] = await withAdditions(additions, resource, work, [view]);
  const warnings: Warning[] = [
    ...((await resource.warn?.(view, work)) ?? []),
    ...(await warningsBeside(additions, resource, work, view)),
  ];
  return {
    status: outcome.status ?? 200,
    body: { message: outcome.message, data, warnings },
    headers: { etag: etagOf(view) },
  };
}

type Outcome = { message: string; status?: number };
