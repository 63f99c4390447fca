import { createRow } from '../management/rows.ts';
import type { Work } from '../management/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import { type AttributesChange, refusalOf } from './attributes/read.ts';
import { saveAttributes } from './attributes/store.ts';
import { audiences, listId } from './audiences.ts';
import { changeMembers, type MemberChange } from './members/members.ts';

/*
 * What others of the service are told of users, such as sources of events. What cannot be kept of it is said, and the
 * rest is kept.
 */

/** Attributes of a user; null removes one. */
export type ToldAttributes = { pubUserId: string; attributes: ReadonlyMap<string, unknown> };

export type AttributeProblem = 'invalid' | 'type_changed' | 'too_many';

/** @returns for each user that was told of, what of it was not kept, by name */
export async function tellAttributes(
  { executor, publisherId, nowMs }: Work,
  told: readonly ToldAttributes[],
  userKeys: UserKeys,
): Promise<Map<string, AttributeProblem>[]> {
  const problems = told.map(() => new Map<string, AttributeProblem>());
  const changes = told.map(({ pubUserId, attributes }, index): AttributesChange => {
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
    const found = problems[changes.indexOf(change)];
    if (name !== null) found?.set(name, 'type_changed');
    else for (const each of [...change.set.keys(), ...change.remove]) found?.set(each, 'too_many');
  };
  await saveAttributes(executor, changes, { publisherId, userKeys, nowMs, refuse });
  return problems;
}

/** Why the members of an audience cannot be told. */
export type ListProblem = 'unknown' | 'has_rule' | 'refused';

/**
 * The id of a list, which is made where it is missing. Must come before what refers to the publisher in a transaction.
 * @param name of the list to be made; null: none is
 */
export async function findList(work: Work, key: string, name: string | null): Promise<number | ListProblem> {
  const found = await idOrProblem(work, key);
  if (found !== 'unknown' || name === null) return found;
  await work.executor.query('select 1 from publishers where id = $1 for update', [work.publisherId]);
  const made = await idOrProblem(work, key);
  if (made !== 'unknown') return made;
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

/** Changes members of lists by their ids. */
export const tellMembers = ({ executor }: Work, changes: ReadonlyMap<number, MemberChange>): Promise<void> =>
  changeMembers(executor, changes);
