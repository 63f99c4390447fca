import type { Labels } from './types.ts';

/** Texts of the unit itself; all others come with offers and settings. `AdConfig.labels` replaces them. */
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
