import { expect, test } from 'vitest';
import type { Publisher, Theme } from '../../../src/catalog/types.ts';
import { themePreview } from '../../../src/catalog-admin/offer-preview.ts';
import { wantedOf } from '../../../src/platform/i18n/reader.ts';

const publisherIn = (language: string) =>
  ({
    name: 'Laden',
    sdkId: '00112233aabbccdd',
    privacyUrl: null,
    language: wantedOf(language),
  }) as unknown as Publisher;
const theme = {
  unit: 'mou',
  settings: {},
  styles: { footer: { privacy: 'So gehen wir mit Daten um' } },
  appearance: {},
} as unknown as Theme;
const previewIn = (language: string, of: Theme | null) =>
  themePreview({
    publisher: publisherIn(language),
    theme: of,
    publicUrl: 'https://perks.test',
    sampleOffers: undefined,
  } as never);

test('a preview shows the same unit texts as a fetch without a language', () => {
  const [english, german] = [previewIn('en', null), previewIn('de-AT,en', null)];
  expect(english.settings.offerwall_cta).toBe('More Offers');
  expect(german.settings.offerwall_cta).toBe('Weitere Angebote');
  expect(german.settings.privacy_policy).toBe('https://perks.test/privacy/00112233aabbccdd?language=de');
  expect(german.styles.header.text).not.toBe(english.styles.header.text);
  expect(previewIn('de', theme).styles.footer.privacy).toBe('So gehen wir mit Daten um');
});
