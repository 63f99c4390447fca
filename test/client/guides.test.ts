import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { configFragments } from '../../packages/client/src/template.ts';

const folder = new URL('../../docs/guides/', import.meta.url);
const index = readFileSync(new URL('../../packages/client/src/index.ts', import.meta.url), 'utf8');
const guides = readdirSync(folder).map((name) => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }));
const platforms = ['android.md', 'flutter.md', 'ios.md', 'react-native.md', 'web.md'];
const native = guides.filter(({ name }) => /^(android|flutter|ios)\.md$/.test(name));

const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replace(/\s+/g, '-');

test('there is a guide for each platform', () => {
  expect(guides.map(({ name }) => name)).toEqual(expect.arrayContaining(platforms));
});

describe.each(guides)('$name', ({ text }) => {
  test('imports only what the client exports', () => {
    const names = [...text.matchAll(/import (?:type )?\{([^}]*)\} from '@perkwire\/client'/g)].flatMap(
      ([, list = '']) => list.split(','),
    );
    const missing = names
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(index));
    expect(missing).toEqual([]);
  });

  test('links to existing files and headings', () => {
    for (const [, path = '', heading] of text.matchAll(/\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)/g)) {
      const target = new URL(path, folder);
      expect(existsSync(target), path).toBe(true);
      if (heading === undefined) continue;
      const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => slugOf(title));
      expect(headings, `${path}#${heading}`).toContain(heading);
    }
  });
});

test.each(guides.filter(({ name }) => platforms.includes(name)))(
  '$name describes the confirmation of perks and the errors',
  ({ text }) => {
    expect(text).toContain('## Confirming perks');
    expect(text).toContain('Ad.confirm()');
    expect(text).toContain('## Errors');
  },
);

test.each(native)('$name renders the templates in the same way as the client', ({ text }) => {
  for (const fragment of Object.values(configFragments)) expect(text).toContain(fragment);
  for (const placeholder of ['%%SDK_ID%%', '%%SDK_CDN_URL%%', '%%CONFIG%%', '%%AdUser%%', 'window.AdUser = {};']) {
    expect(text).toContain(placeholder);
  }
  expect(text).toContain('Never about:blank');
});
