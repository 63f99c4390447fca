import type { Choice } from './forms.ts';

const timeZones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

export const timeZoneChoices: readonly Choice[] = timeZones.map((zone) => ({
  value: zone,
  text: zone.replaceAll('_', ' '),
}));
