import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Type } from '@sinclair/typebox';
import { maxPlacementLength, normaliseName } from '../../catalog/names.ts';
import { controlOf, experimentSlots, holdoutArm } from '../../catalog/types.ts';
import { text } from '../../management/fields.ts';
import { idSchema, orNull, type Resource, stamps, timestamp, type Values } from '../../management/resource.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import { timeOf } from '../../platform/lib/time-zone.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import { allocate } from './allocation.ts';
import { armSchema, keySchema, maxArms, share } from './changes.ts';
import { check } from './check.ts';
import { type LiveExperiment, liveExperiments, requireNoConflict } from './conflicts.ts';
import { historySchema, withEntry } from './history.ts';
import { rampSchema, requireNoneLeave } from './ramp.ts';
import { type ExperimentValues, type ExperimentView, states } from './view.ts';

const timeOrNull = (description: string) => orNull(text(40), { default: null, description });

/**
 * Experiments as a REST resource. An experiment shows different variants to different users of a publisher
 * (docs/reference/experiments-and-outcomes.md).
 */
export const experiments: Resource = {
  name: 'experiments',
  noun: 'experiment',
  table: 'experiments',
  key: 'key',
  permission: 'configurations',
  input: Type.Object(
    {
      key: {
        ...keySchema,
        description: 'Key of the experiment in responses, webhooks and reports. It cannot be changed.',
      },
      name: text(200, { default: '' }),
      placements: orNull(
        Type.Array(Type.String({ minLength: 1, maxLength: maxPlacementLength }), { minItems: 1, maxItems: 100 }),
        {
          default: null,
          description: 'Names of the placements, or `null` for all placements.',
        },
      ),
      campaign_id: orNull(idSchema, {
        default: null,
        description: 'Campaign that is withheld from the hold-out. `null` withholds all offers.',
      }),
      layer: orNull(keySchema, {
        default: null,
        description:
          'Layer of the experiment. A user is in at most one experiment of a layer, so experiments of the same ' +
          'layer can change the same setting.',
      }),
      holdout: { ...share, default: 0, description: 'Share of the traffic that gets no offers, from 0 to 1.' },
      arms: Type.Array(armSchema, {
        maxItems: maxArms + 1,
        default: [],
        description:
          'Arms: the control, which changes nothing, and up to four others. Traffic that is not assigned to an ' +
          'arm is outside the experiment.',
      }),
      start_at: timeOrNull('Automatic start as an RFC 3339 time. `null` to start the experiment manually.'),
      end_at: timeOrNull(
        'Automatic end as an RFC 3339 time. `null` to stop it manually. A later end restarts an ended experiment.',
      ),
      ramp: rampSchema,
      smallest_lift: Type.Number({
        minimum: 0.001,
        maximum: 10,
        default: 0.05,
        description:
          'Smallest relative difference that the experiment must detect: 0.05 is 5%. It determines the planned ' +
          'duration and when there is enough data.',
      }),
    },
    { additionalProperties: false },
  ),
  readOnly: {
    state: Type.Union(states.map((state) => Type.Literal(state))),
    version: Type.Integer({
      description: 'Version, increased by each change of arms or shares. Each version is reported separately.',
    }),
    versions: Type.Array(
      Type.Object({
        version: Type.Integer(),
        at: timestamp(),
        holdout: share,
        arms: Type.Array(armSchema),
      }),
      { description: 'Configuration of each version, with its start.' },
    ),
    allocation: Type.Array(Type.Object({ from: Type.Integer(), to: Type.Integer(), arm: Type.String() }), {
      description:
        `Assignment of the ${experimentSlots} slots: each arm gets the slots from \`from\` up to, but not ` +
        'including, `to`.',
    }),
    salt: Type.String({ description: "Salt that determines the slot of a user together with the user's identifier." }),
    started_at: orNull(timestamp()),
    stopped_at: orNull(timestamp()),
    adopted: orNull(
      Type.Object(
        {
          arm: Type.String(),
          at: timestamp(),
          by: Type.String({ description: 'Name of the key or e-mail address of the user.' }),
          written: Type.Array(
            Type.Object({
              resource: Type.String({
                description: 'Type of the changed resource: `placements`, `themes` or `controls`.',
              }),
              key: Type.String({ description: 'Name or ID of the changed row.' }),
              fields: Type.Record(Type.String(), Type.Object({ old: Type.Unknown(), new: Type.Unknown() })),
              made: Type.Optional(Type.Boolean({ description: 'Whether the row was created, as a copy of a theme.' })),
            }),
          ),
        },
        { title: 'ExperimentAdoption' },
      ),
      { description: 'The arm that was made permanent, and the changes that were written. `null` for none.' },
    ),
    history: historySchema,
    ...stamps,
  },
  expressions: ({ nowMs }) => ({ state: stateSql(nowMs) }),
  fixed: ['key'],
  unique: { experiments_key: 'key' },
  sorts: { key: 'text', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: ['layer'],
  searched: ['key', 'name'],
  prepare,
  check: (values, work) => check(values as ExperimentValues, work),
  complete: (values, work, current) => complete(values as ExperimentValues, work, current as ExperimentView | null),
};

/** Normalises names and times before they are stored. */
function prepare(values: Values): Values {
  const prepared = { ...values };
  if (Array.isArray(values.placements))
    prepared.placements = [...new Set(values.placements.map((name) => normaliseName(String(name))))];
  for (const name of ['start_at', 'end_at']) {
    const atMs = typeof values[name] === 'string' ? timeOf(values[name]) : null;
    if (atMs !== null && !Number.isNaN(atMs)) prepared[name] = new Date(atMs).toISOString();
  }
  return prepared;
}

const stateSql = (nowMs: number): string => {
  const now = `to_timestamp(${nowMs / 1000})`;
  return `case when stopped_at is not null then 'stopped'
    when end_at <= ${now} then 'ended'
    when coalesce(started_at, start_at) is null then 'draft'
    when coalesce(started_at, start_at) > ${now} then 'scheduled'
    else 'running' end`;
};

const slotsOf = (part: number): number => Math.round(part * experimentSlots);

/**
 * Returns the fields that start a new version of the experiment when changed, in comparable form. Shares are rounded to
 * slots, as in forms. The order of arms and placements is ignored.
 */
const design = ({ arms, holdout, placements, campaign_id, layer }: ExperimentValues) => ({
  arms: new Map(arms.map(({ key, share: part, changes }) => [key, [slotsOf(part), changes]])),
  control: controlOf(arms),
  holdout: slotsOf(holdout),
  placements: new Set(placements),
  campaign_id,
  layer,
});

/**
 * Adds new slots and a new version if arms, shares or times change. Rejects the change if it conflicts with other
 * experiments.
 */
async function complete(values: ExperimentValues, work: Work, current: ExperimentView | null): Promise<Values> {
  if (current === null) {
    const created = { ...values, salt: randomBytes(12).toString('hex') };
    return values.start_at === null ? created : { ...created, ...(await arrange(values, work, null, 'schedule')) };
  }
  requireNoneLeave(current, values.ramp, work.nowMs);
  const isSame = isDeepStrictEqual(design(values), design(current));
  const { state } = current;
  if (!isSame && (state === 'stopped' || state === 'ended'))
    throw new AppError('conflict', { message: problem('experimentOver') });
  if (state === 'ended' && (values.end_at === null || isAfter(values.end_at, work.nowMs)))
    return startAgain(values, work, current);
  const isToStart = state === 'draft' || state === 'scheduled';
  if (isSame && (!isToStart || values.start_at === current.start_at)) return values;
  const isLive = state !== 'draft' || values.start_at !== null;
  const action = state === 'running' ? 'change' : 'schedule';
  return isLive ? { ...values, ...(await arrange(values, work, current, action)) } : values;
}

const isAfter = (time: string, nowMs: number): boolean => Date.parse(time) > nowMs;

/**
 * Restarts an ended experiment if its end time is moved: at its start time if that is in the future, or else
 * immediately. A draft remains a draft.
 */
async function startAgain(values: ExperimentValues, work: Work, current: ExperimentView): Promise<Values> {
  if (current.started_at === null && values.start_at === null) return values;
  const isLater = values.start_at !== null && isAfter(values.start_at, work.nowMs);
  const arranged = await arrange(values, work, current, isLater ? 'schedule' : 'start');
  return { ...values, ...arranged, started_at: isLater ? null : new Date(work.nowMs).toISOString() };
}

/**
 * Returns the columns to store for a running or scheduled experiment: its slots and its new version.
 * @throws AppError conflict, with the conflicting experiments
 */
export async function arrange(
  values: ExperimentValues,
  work: Work,
  current: ExperimentView | null,
  action: 'schedule' | 'start' | 'change',
): Promise<Values> {
  const others = (await liveExperiments(work)).filter(({ key }) => key !== current?.key);
  requireNoConflict(values, others);
  if (others.length >= maxLive) throw tooMany(problem('maxLiveExperiments', { max: maxLive }));
  if ((current?.versions.length ?? 0) >= maxVersions)
    throw tooMany(problem('maxExperimentVersions', { max: maxVersions }));
  const { arms, holdout, layer } = values;
  const shares = [...(holdout > 0 ? [{ key: holdoutArm, share: holdout }] : []), ...arms];
  const usedSlots = others
    .filter((other) => layer !== null && other.layer === layer)
    .flatMap(({ allocation }) => allocation);
  const allocation = allocate(current?.allocation ?? [], {
    arms: shares,
    control: controlOf(arms),
    blockedSlots: usedSlots,
  });
  if (allocation === null) throw layerFull(values, others);
  const before = current?.versions ?? [];
  const version = before.length + 1;
  const at = new Date(work.nowMs).toISOString();
  return {
    allocation: JSON.stringify(allocation),
    version,
    versions: JSON.stringify([...before, { version, at, holdout, arms }]),
    // All experiments in a layer use the same salt, because they divide the same users among themselves.
    ...(layer === null ? {} : { salt: `${work.publisherId} ${layer}` }),
    history: withEntry(current ?? {}, work, { action, version }),
  };
}

/**
 * Maximum number of running experiments per publisher. It is limited because each fetch checks all of them.
 * `maxVersions` is the maximum number of versions per experiment.
 */
const maxLive = 50;
const maxVersions = 200;

const tooMany = (message: Problem): AppError => new AppError('conflict', { message });

const layerFull = ({ key, layer }: ExperimentValues, others: readonly LiveExperiment[]): AppError =>
  new AppError('conflict', {
    message: problem('layerFull', {
      layer: String(layer),
      key,
      others: others
        .filter((other) => other.layer === layer)
        .map((other) => other.key)
        .join(', '),
    }),
    details: [{ path: '/arms', message: problem('layerLeft') }],
  });
