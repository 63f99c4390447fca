/** Consent of the end user, as stated in a call. */
export type Consent = 'granted' | 'refused' | 'unstated';

const granted: ReadonlySet<unknown> = new Set([true, 1, 'true', '1', 'yes', 'granted']);
const usualRefusals: ReadonlySet<unknown> = new Set([false, 0, 'false', 'False', '0', 'no', 'denied']);

/**
 * Parses a consent value. Any value that is not known to grant consent counts as a refusal
 * (docs/reading-input.md#consent).
 */
export function readConsent(value: unknown): Consent {
  if (value === undefined || value === null || value === '') return 'unstated';
  return granted.has(value) ? 'granted' : 'refused';
}

/** Whether a value is one of the documented ways to grant or refuse consent. Any other value causes a notice. */
export const isUsualConsent = (value: unknown): boolean => readConsent(value) !== 'refused' || usualRefusals.has(value);

/** Whether a `Sec-GPC` header signals Global Privacy Control. Node joins repeated headers with commas. */
export const hasGpc = (header: string | string[] | undefined): boolean =>
  header !== undefined &&
  String(header)
    .split(',')
    .some((value) => value.trim() === '1');
