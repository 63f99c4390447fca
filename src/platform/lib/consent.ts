/** What a call says about the consent of the end user. */
export type Consent = 'granted' | 'refused' | 'unstated';

const granted: ReadonlySet<unknown> = new Set([true, 1, 'true', '1', 'yes', 'granted']);
const usualRefusals: ReadonlySet<unknown> = new Set([false, 0, 'false', 'False', '0', 'no', 'denied']);

/** Reads a stated consent. A value that is not known to grant it refuses it (docs/reading-input.md#consent). */
export function readConsent(value: unknown): Consent {
  if (value === undefined || value === null || value === '') return 'unstated';
  return granted.has(value) ? 'granted' : 'refused';
}

/** Whether a value states consent, or its refusal, in a documented way. Any other value deserves a notice. */
export const isUsualConsent = (value: unknown): boolean => readConsent(value) !== 'refused' || usualRefusals.has(value);

/** Whether the header `Sec-GPC` asks for privacy. Node joins a repeated header with commas. */
export const hasGpc = (header: string | string[] | undefined): boolean =>
  header !== undefined &&
  String(header)
    .split(',')
    .some((value) => value.trim() === '1');
