import { sealedIdTokens } from '../../accounts/sessions.ts';
import { sealedTwoFactor } from '../../accounts/two-factor.ts';
import { sealedAlertUrls } from '../../alerts/rules.ts';
import { sealedConversionSecrets } from '../../catalog/conversion-secret.ts';
import { sealedAnswers } from '../../management/idempotency.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { sealedCanary } from '../../platform/security/canary.ts';
import { type SealedColumn, type SealedCounts, walkSealed } from '../../platform/security/sealed-column.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { sealedSubjects } from '../../privacy/erasure-job.ts';
import { sealedEndpointColumns } from '../../webhooks/endpoint-store.ts';

/** Every sealed value of the database. The canary comes last: it vouches for the others once the old key is gone. */
export const sealedColumns: readonly SealedColumn[] = [
  ...sealedEndpointColumns,
  sealedAlertUrls,
  sealedConversionSecrets,
  sealedTwoFactor,
  sealedIdTokens,
  sealedAnswers,
  sealedSubjects,
  sealedCanary,
];

type WalkOptions = { reseal: boolean; report?: (column: string, read: number) => void };

/** Walks all columns, one after the other (`walkSealed`). */
export async function* walkAllSealed(
  executor: Executor,
  box: SecretBox,
  { reseal, report }: WalkOptions,
): AsyncGenerator<{ column: string } & SealedCounts> {
  for (const column of sealedColumns) {
    const counts = await walkSealed(executor, box, column, { reseal, report: (read) => report?.(column.name, read) });
    yield { column: column.name, ...counts };
  }
}
