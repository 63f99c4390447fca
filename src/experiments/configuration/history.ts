import { Type } from '@sinclair/typebox';
import { timestamp } from '../../management/resource.ts';
import type { Actor } from '../../management/unit-of-work.ts';

const actions = ['schedule', 'start', 'change', 'stop', 'adopt', 'undo'] as const;
type HistoryAction = (typeof actions)[number];

/** An action in the history of an experiment. `arm` is set for adoptions. */
export type HistoryEntry = { at: string; by: string; action: HistoryAction; version: number; arm?: string };

export const historySchema = Type.Array(
  Type.Object({
    at: timestamp(),
    by: Type.String({ description: 'Name of the key or e-mail address of the user.' }),
    action: Type.Union(actions.map((action) => Type.Literal(action))),
    version: Type.Integer(),
    arm: Type.Optional(Type.String({ description: 'Arm that was made permanent.' })),
  }),
  { description: 'The last 500 actions on the experiment.' },
);

const maxEntries = 500;

/** Appends an entry to an experiment's history. Returns the history as JSON for the database column. */
export function withEntry(
  { history = [] }: { history?: readonly HistoryEntry[] },
  { actor, nowMs }: { actor: Actor; nowMs: number },
  entry: { action: HistoryAction; version: number; arm?: string },
): string {
  const at = new Date(nowMs).toISOString();
  return JSON.stringify([...history, { at, by: actor.label, ...entry }].slice(-maxEntries));
}
