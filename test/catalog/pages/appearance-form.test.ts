import { describe, expect, test } from 'vitest';
import { appearanceToForm, readAppearance } from '../../../src/catalog/pages/themes/appearance-form.ts';
import { fieldsOf } from '../../../src/shell/context.ts';
import type { Nested } from '../../../src/shell/nested.ts';

/** As a browser sends the form: unchecked boxes are absent. */
const submit = (values: Record<string, unknown>) =>
  readAppearance(
    fieldsOf(
      new URLSearchParams(
        Object.entries(values).flatMap(([name, value]): [string, string][] =>
          value === false ? [] : [[name, value === true ? 'on' : String(value)]],
        ),
      ),
    ),
  );

const none = { settings: {}, styles: {}, appearance: {} };

describe('the appearance of a theme in its form', () => {
  test.each<Nested>([
    none,
    {
      ...none,
      appearance: { color_scheme: 'system', width: 520, dark: { popup: { background: '#000000' } } },
    },
    {
      settings: { delay: 200 },
      styles: { popup: { borderRadius: { top_left: '4', top_right: '8' } }, offerwall: { tile_radius: 2 } },
      appearance: {},
    },
    {
      ...none,
      styles: { offerText: { buttonYes: { background: '#b3411c', color: '#ffffff' } } },
    },
  ])('%j is what users saw after it was saved untouched', (stored) => {
    const values = appearanceToForm(stored);
    expect(appearanceToForm(submit(values) as Nested)).toEqual(values);
  });

  test('saved untouched without overrides, stores none', () => {
    expect(submit(appearanceToForm(none))).toEqual(none);
  });

  test('one corner radius is that of all corners; corners that differ stay', () => {
    const values = { ...appearanceToForm(none), 'styles.popup.borderRadius.top_left': '20' };
    const radius = { top_left: '20', top_right: '20', bottom_right: '20', bottom_left: '20' };
    expect(submit(values).styles).toEqual({ popup: { borderRadius: radius } });
    const uneven = { ...none, styles: { popup: { borderRadius: { ...radius, bottom_left: '0' } } } };
    expect(submit(appearanceToForm(uneven))).toEqual(uneven);
  });

  test('the yes button of single units is that of cards, too', () => {
    const values = { ...appearanceToForm(none), 'styles.offerText.buttonYes.background': '#b3411c' };
    expect(submit(values).styles).toEqual({
      offerText: { buttonYes: { background: '#b3411c', stroke: '#b3411c' } },
      offerwall: {
        button: { offerwall_mou_button_background: '#b3411c', offerwall_mou_button_stroke: '#b3411c' },
      },
    });
  });
});
