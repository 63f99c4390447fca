/** Consent of the end user, as stated by a call. */
export type Consent = 'granted' | 'refused' | 'unstated';

const granted: ReadonlySet<unknown> = new Set([true, 1, 'true', '1', 'yes', 'granted']);
const usualRefusals: ReadonlySet<unknown> = new Set([false, 0, 'false', 'False', '0', 'no', 'denied']);

/**
 * Reads a stated consent. Any value that is not known to grant it counts as refused (docs/reading-input.md#consent).
 */
export function readConsent(value: unknown): Consent {
  if (value === undefined || value === null || value === '') return 'unstated';
  return granted.has(value) ? 'granted' : 'refused';
}

/** Whether a value grants or refuses consent in a documented way. Any other value causes a notice. */
export const isUsualConsent = (value: unknown): boolean => readConsent(value) !== 'refused' || usualRefusals.has(value);

/** Whether the header `Sec-GPC` requests privacy. Node joins repeated headers with commas. */
export const hasGpc = (header: string | string[] | undefined): boolean =>
  header !== undefined &&
  String(header)
    .split(',')
    .some((value) => value.trim() === '1');
