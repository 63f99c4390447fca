import type { Labels } from './types.ts';

export const progressText = ({ progress }: Labels, current: number, total: number): string =>
  progress.replace('{current}', `${current}`).replace('{total}', `${total}`);
