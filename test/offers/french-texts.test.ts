import { expect, test } from 'vitest';
import { fillText } from '../../src/offers/offer-view.ts';

const blank = ' ';
const narrow = '\u202f';
const noBreak = '\u00a0';

/** Characters that have a space before them in French, usually a non-breaking one. */
const marks = ['!', '?', ';', ':', '»', '%', '€'];
const cases = [blank, narrow, noBreak].flatMap((space) => marks.map((mark) => [space, mark] as const));

test.each(cases)("the author's space %j before %s is kept if the macro has a value", (space, mark) => {
  expect(fillText(`Bonjour {{name}}${space}${mark}`, { name: 'Zoé' })).toBe(`Bonjour Zoé${space}${mark}`);
  expect(fillText(`« Bonjour${space}${mark} » {{name}}`, { name: 'Zoé' })).toBe(`« Bonjour${space}${mark} » Zoé`);
});

test.each(cases)("the author's space %j before %s is kept if nothing next to it is missing", (space, mark) => {
  expect(fillText(`{{name}} prix${space}${mark} oui`, {})).toBe(`prix${space}${mark} oui`);
});

test.each([blank, narrow, noBreak].flatMap((space) => ['!', '?', ';', ':'].map((mark) => [space, mark] as const)))(
  "a missing value loses the space before it, not the author's space %j before %s",
  (space, mark) => {
    expect(fillText(`Bonjour {{name}}${space}${mark}`, {})).toBe(`Bonjour${space}${mark}`);
    expect(fillText(`Bonjour {{name}}${space}${mark} Un cadeau.`, {})).toBe(`Bonjour${space}${mark} Un cadeau.`);
  },
);

test.each([
  ['Bonjour {{name}}, voici', 'Bonjour, voici'],
  ['Bonjour {{name}}. Voici', 'Bonjour. Voici'],
  [`Cadeau «${noBreak}{{name}}${noBreak}»`, `Cadeau «${noBreak}»`],
  ['{{name}} : un cadeau', ': un cadeau'],
  ['Un cadeau pour {{name}}', 'Un cadeau pour'],
])('%s without a value becomes %s', (text, filled) => {
  expect(fillText(text, {})).toBe(filled);
});

test('a text without macros, or with all values, keeps every space', () => {
  const text = `  Déjà ${narrow}!  Vraiment${noBreak}?  «${noBreak}Oui${noBreak}»  `;
  expect(fillText(text, {})).toBe(text);
  expect(fillText(`${text}{{name}}`, { name: 'Zoé' })).toBe(`${text}Zoé`);
  expect(fillText('Bonjour {{name|vous}} !', {})).toBe('Bonjour vous !');
});
