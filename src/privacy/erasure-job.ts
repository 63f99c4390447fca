import type pg from 'pg';
import type { Config } from '../config.ts';
import type { Logger } from '../platform/logger.ts';
import { sealedColumn } from '../platform/security/sealed-column.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { type ClaimedErasure, claimErasure, endErasure, endFirstSweep, renewErasure } from './erasures.ts';
import type { UserDataSteps } from './steps.ts';
import { keysOfSubject } from './subject.ts';
import { addCounts, type Sweep, sweepUser } from './sweep.ts';

export type ErasureDeps = {
  pool: pg.Pool;
  config: Config;
  secretBox: SecretBox;
  logger: Logger;
  now: () => number;
  userData: UserDataSteps;
};

const sealContext = 'erasure-subject';

export const sealedSubjects = sealedColumn({
  table: 'erasures',
  column: 'subject_sealed',
  key: ['user_key', 'id'],
  context: () => sealContext,
});

export const sealSubject = (box: SecretBox, identifier: string): Buffer => box.seal(identifier, sealContext);

/**
 * Runs one erasure sweep that is due. If the sweep fails, this is logged, and the sweep becomes due again when its
 * lease has expired.
 * @returns false if no sweep is due
 */
export async function eraseNext(deps: ErasureDeps): Promise<boolean> {
  const erasure = await claimErasure(deps.pool, deps.now());
  if (erasure === null) return false;
  try {
    await runSweep(deps, erasure);
  } catch (err) {
    deps.logger.error({ err, erasureId: erasure.id }, 'erasure failed; will retry');
  }
  return true;
}

async function runSweep(
  { pool, config, secretBox, now, userData }: ErasureDeps,
  erasure: ClaimedErasure,
): Promise<void> {
  const { id, publisherId, namedBy, userKey } = erasure;
  const identifier = secretBox.open(erasure.subjectSealed, sealContext);
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const keys = keysOfSubject(userKeys, publisherId, { namedBy, identifier });
  const sweep: Sweep = {
    erasureId: id,
    subject: { publisherId, namedBy, userKey, userKeys: [...new Set([userKey, ...keys])], identifier },
    until: erasure.requestedAt,
    isSecond: erasure.sweptAt !== null,
    nowMs: now(),
  };
  let { counts } = erasure;
  await sweepUser({ pool, userKeys, userData }, sweep, async (erased) => {
    counts = addCounts(counts, erased);
    await renewErasure(pool, erasure, counts, now());
  });
  await (sweep.isSecond ? endErasure : endFirstSweep)(pool, erasure, now());
}

/** Runs all due sweeps. An interrupted sweep is claimed again when its lease has expired. */
export async function eraseDueUsers(deps: ErasureDeps, isStopped: () => boolean): Promise<void> {
  while (!isStopped() && (await eraseNext(deps)));
}
