import { createRow } from '../management/rows.ts';
import type { Work } from '../management/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import { type AttributesChange, refusalOf } from './attributes/read.ts';
import { saveAttributes } from './attributes/store.ts';
import { audiences, listId } from './audiences.ts';
import { changeMembers, type MemberChange } from './members/members.ts';

/*
 * Changes that other parts of the service, such as event sources, make to profiles. Values that can't be stored are
 * reported, and all others are stored.
 */

/** Attribute changes for a user. A null value removes an attribute. */
export type UserAttributeChanges = { pubUserId: string; attributes: ReadonlyMap<string, unknown> };

export type AttributeProblem = 'invalid' | 'type_changed' | 'too_many';

/**
 * Changes the attributes of users.
 * @returns for each user, the reasons why attributes were not stored, by attribute name
 */
export async function changeUserAttributes(
  { executor, publisherId, nowMs }: Work,
  users: readonly UserAttributeChanges[],
  userKeys: UserKeys,
): Promise<Map<string, AttributeProblem>[]> {
  const problems = users.map(() => new Map<string, AttributeProblem>());
  const changes = users.map(({ pubUserId, attributes }, index): AttributesChange => {
    const set = new Map<string, string | number | boolean>();
    const remove: string[] = [];
    for (const [name, value] of attributes) {
      if (refusalOf(name, value) !== null) problems[index]?.set(name, 'invalid');
      else if (value === null) remove.push(name);
      else set.set(name, value as string | number | boolean);
    }
    return { pubUserId, set, remove, untilMs: null, path: '' };
  });
  const refuse = (change: AttributesChange, name: string | null): void => {
    const userProblems = problems[changes.indexOf(change)];
    if (name !== null) userProblems?.set(name, 'type_changed');
    else for (const changedName of [...change.set.keys(), ...change.remove]) userProblems?.set(changedName, 'too_many');
  };
  await saveAttributes(executor, changes, { publisherId, userKeys, nowMs, refuse });
  return problems;
}

/** Reason why the members of an audience can't be changed. */
export type ListProblem = 'unknown' | 'has_rule' | 'refused';

/**
 * Returns the ID of the audience with this key. The audience must not have a rule. Creates the audience if it does not
 * exist. In a transaction, call it before any statement that references the publisher.
 * @param name name of the audience to create, or null to create none
 */
export async function findList(work: Work, key: string, name: string | null): Promise<number | ListProblem> {
  const existing = await idOrProblem(work, key);
  if (existing !== 'unknown' || name === null) return existing;
  await work.executor.query('select 1 from publishers where id = $1 for update', [work.publisherId]);
  const concurrent = await idOrProblem(work, key);
  if (concurrent !== 'unknown') return concurrent;
  try {
    await createRow(audiences, work, { key, name });
  } catch (err) {
    if (err instanceof AppError && err.status < 500) return 'refused';
    throw err;
  }
  return idOrProblem(work, key);
}

async function idOrProblem(work: Work, key: string): Promise<number | 'unknown' | 'has_rule'> {
  try {
    return await listId(work, key, 'for key share');
  } catch (err) {
    if (!(err instanceof AppError)) throw err;
    return err.code === 'conflict' ? 'has_rule' : 'unknown';
  }
}

/** Changes the members of audiences, keyed by audience ID. */
export const changeListMembers = ({ executor }: Work, changes: ReadonlyMap<number, MemberChange>): Promise<void> =>
  changeMembers(executor, changes);
