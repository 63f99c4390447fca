import type { Labels } from './types.ts';

/**
 * Words of the unit itself; offers and settings bring all others. A page in another language sets `AdConfig.labels`.
 */
export const defaultLabels: Labels = {
  offers: 'Offers',
  close: 'Close',
  back: 'Previous offer',
  terms: 'Terms and conditions',
  progress: 'Offer {current} of {total}',
  saved: 'Offer saved',
  newTab: '(opens in a new tab)',
};

export const progressText = ({ progress }: Labels, current: number, total: number): string =>
  progress.replace('{current}', `${current}`).replace('{total}', `${total}`);
