import { type Static, Type } from '@sinclair/typebox';
import { attributeNamePattern } from '../catalog/names.ts';
import { audit } from '../management/audit.ts';
import { patternProblem } from '../management/schema-errors.ts';
import type { Work } from '../management/unit-of-work.ts';
import type { Executor } from '../platform/db/pool.ts';
import { problem } from '../platform/problem.ts';
import { sealedColumn } from '../platform/security/sealed-column.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';

/** Maximum number of entries in each section of the event mapping. */
const maxEntries = 100;

const nameText = Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000]*$' });
const attributeName = Type.String({
  pattern: attributeNamePattern.source,
  [patternProblem]: problem('attributeLetters'),
});
const audienceKey = Type.String({ minLength: 1, maxLength: 64 });
const outcome = Type.Object(
  {
    name: { ...attributeName, description: 'Name of the outcome.' },
    value: Type.Optional({
      ...nameText,
      description:
        'Property that contains the value, such as `revenue`. Its currency is read from `currency`. Defaults to ' +
        'a value of 1.',
    }),
  },
  { title: 'OutcomeOfEvent', additionalProperties: false },
);

const record = <Value extends typeof attributeName | typeof outcome>(value: Value, description: string) =>
  Type.Record(nameText, value, { maxProperties: maxEntries, default: {}, description });

/**
 * Settings that map events to effects (docs/reference/users-and-privacy.md#sources). Events and values that are not
 * mapped are ignored.
 */
export const sourceSettings = Type.Object(
  {
    traits: record(attributeName, 'Traits of `identify` calls, with the attribute that each sets.'),
    group_traits: record(
      attributeName,
      'Traits of `group` calls, or `groupId`, with the user attribute that each sets.',
    ),
    events: record(outcome, 'Names of `track` events, with the outcome that each records.'),
    audiences: record(
      audienceKey as typeof attributeName,
      'Audiences by trait (true for members) or by audience key of the source, with the key of the list to ' +
        'maintain. Segment audiences that are not mapped keep their keys, with hyphens instead of underscores.',
    ),
    create_audiences: Type.Boolean({
      default: true,
      description: 'Whether to create a list for an unknown audience of the source.',
    }),
  },
  { title: 'SourceSettings', additionalProperties: false },
);

/** Source settings, together with the secret for request signatures. */
export const sourceInput = Type.Object(
  {
    ...sourceSettings.properties,
    secret: Type.Optional(
      Type.Union([Type.String({ minLength: 8, maxLength: 200, pattern: '^[^\\u0000]*$' }), Type.Null()], {
        description: 'Shared secret that signs `x-signature`. If omitted, the stored secret stays. `null` removes it.',
      }),
    ),
  },
  { title: 'SourceInput', additionalProperties: false },
);

export type SourceSettings = Static<typeof sourceSettings>;

const initial: SourceSettings = { traits: {}, group_traits: {}, events: {}, audiences: {}, create_audiences: true };

const context = (publisherId: unknown): string => `segment-source ${publisherId}`;

export const sealedSourceSecrets = sealedColumn({
  table: 'segment_sources',
  column: 'secret_sealed',
  key: ['publisher_id'],
  context: ([publisherId]) => context(publisherId),
});

/** Settings of a publisher's source. If `secret` is null, requests are not signed. */
export type Source = { settings: SourceSettings; secret: string | null };

export async function readSource(
  { executor, publisherId }: { executor: Executor; publisherId: number },
  box: SecretBox,
): Promise<Source> {
  const { rows } = await executor.query<{ settings: SourceSettings; sealed: Buffer | null }>(
    'select settings, secret_sealed as sealed from segment_sources where publisher_id = $1',
    [publisherId],
  );
  const [row] = rows;
  const sealed = row?.sealed ?? null;
  return {
    settings: { ...initial, ...row?.settings },
    secret: sealed === null ? null : box.open(sealed, context(publisherId)),
  };
}

/**
 * Saves the settings of a publisher's source.
 * @param secret new secret, undefined to keep the current one, or null if requests are no longer signed
 */
export async function saveSource(
  work: Work,
  box: SecretBox,
  settings: SourceSettings,
  secret: string | null | undefined,
): Promise<Source> {
  const { executor, publisherId, nowMs } = work;
  const before = await readSource(work, box);
  const newSecret = secret === undefined ? before.secret : secret;
  await executor.query(
    `insert into segment_sources (publisher_id, settings, secret_sealed, updated_at) values ($1, $2, $3, $4)
    on conflict (publisher_id) do update set settings = excluded.settings, secret_sealed = excluded.secret_sealed,
      updated_at = excluded.updated_at`,
    [
      publisherId,
      JSON.stringify(settings),
      newSecret === null ? null : box.seal(newSecret, context(publisherId)),
      new Date(nowMs),
    ],
  );
  const after = { settings, secret: newSecret };
  const resource = { name: 'sources', key: 'id', ownerOf: () => publisherId } as const;
  const changed = before.secret === newSecret ? {} : { secret: newSecret === null ? null : 'changed' };
  await audit(work, {
    resource,
    action: 'update',
    before: { id: publisherId, ...before.settings },
    after: { id: publisherId, ...settings, ...changed },
  });
  return after;
}
