import { expect, test } from 'vitest';
import { createHealthWatch } from '../../../../src/webhooks/dispatcher/settle/health.ts';
import type { Settlement } from '../../../../src/webhooks/dispatcher/settle/settle.ts';

const failed = (url: string): Settlement =>
  ({
    outcome: 'retry',
    errorClass: 'status',
    status: 500,
    timing: null,
    claimed: { endpointId: 1, maxInFlight: 4, healthy: true, url },
  }) as Settlement;

test('failures of one URL of an endpoint do not count for the next', () => {
  const watch = createHealthWatch(() => 0);
  const trips = (url: string): boolean => watch.observe([failed(url)])[0]?.trips ?? false;
  for (let count = 0; count < 9; count++) expect(trips('https://old.example/')).toBe(false);
  expect(trips('https://new.example/')).toBe(false);
  expect(trips('https://old.example/')).toBe(true);
});
