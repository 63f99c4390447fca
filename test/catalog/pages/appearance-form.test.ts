import { describe, expect, test } from 'vitest';
import {
  appearanceGroups,
  appearanceToForm,
  readAppearance,
} from '../../../src/catalog-admin/pages/themes/appearance-form.ts';
import { fieldsOf, submittedValues } from '../../../src/shell/context.ts';
import { createForm, fieldGroups, type Nested } from '../../../src/shell/forms.ts';

/** Submits the form like a browser, which omits unchecked boxes. */
const submit = (values: Record<string, unknown>) =>
  readAppearance(
    fieldsOf(
      submittedValues(
        new URLSearchParams(
          Object.entries(values).flatMap(([name, value]): [string, string][] =>
            value === false ? [] : [[name, value === true ? 'on' : String(value)]],
          ),
        ),
      ),
    ),
  );

const none = { settings: {}, styles: {}, appearance: {} };

describe('the theme appearance form', () => {
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
  ])('keeps %j when it is saved without changes', (stored) => {
    const values = appearanceToForm(stored);
    expect(appearanceToForm(submit(values) as Nested)).toEqual(values);
  });

  test('keeps an emptied heading empty, and restores the default of other emptied texts', () => {
    const emptied = { ...none, styles: { header: { text: '' } } };
    expect(submit(appearanceToForm(emptied))).toEqual(emptied);
    const values = { ...appearanceToForm(none), 'styles.header.text': '', 'settings.offerwall_cta': '' };
    expect(submit(values)).toEqual(emptied);
  });

  test('shows a text field for a value that a colour or number field cannot hold', () => {
    const styles = {
      popup: { background: '#fff' },
      header: { background: 'rgba(0, 0, 0, .5)' },
      footer: { textColor: 'white' },
    };
    const settings = { offerText: { fontSizeTitle: '1.2rem', fontSizeDescription: '14.5' } };
    const form = createForm(appearanceToForm({ ...none, styles, settings }));
    const { markup } = fieldGroups(false, appearanceGroups(form));
    const typeOf = (name: string) => new RegExp(`type="(\\w+)" id="[^"]*" name="${name}"`).exec(markup)?.[1];
    expect(typeOf('styles.offerText.textColor')).toBe('color');
    expect(typeOf('settings.offerText.fontSizeDescription')).toBe('number');
    expect(markup).toMatch(/name="settings.offerText.fontSizeDescription"[^>]* step="any"/);
    const colours = ['styles.popup.background', 'styles.header.background', 'styles.footer.textColor'];
    for (const name of [...colours, 'settings.offerText.fontSizeTitle']) expect(typeOf(name), name).toBe('text');
  });

  test('stores no overrides if it is saved unedited without any', () => {
    expect(submit(appearanceToForm(none))).toEqual(none);
  });

  test('applies a single corner radius to all corners, and keeps different ones', () => {
    const values = { ...appearanceToForm(none), 'styles.popup.borderRadius.top_left': '20' };
    const radius = { top_left: '20', top_right: '20', bottom_right: '20', bottom_left: '20' };
    expect(submit(values).styles).toEqual({ popup: { borderRadius: radius } });
    const uneven = { ...none, styles: { popup: { borderRadius: { ...radius, bottom_left: '0' } } } };
    expect(submit(appearanceToForm(uneven))).toEqual(uneven);
  });

  test('applies the yes button of single offer units to cards too', () => {
    const values = { ...appearanceToForm(none), 'styles.offerText.buttonYes.background': '#b3411c' };
    expect(submit(values).styles).toEqual({
      offerText: { buttonYes: { background: '#b3411c', stroke: '#b3411c' } },
      offerwall: {
        button: { offerwall_mou_button_background: '#b3411c', offerwall_mou_button_stroke: '#b3411c' },
      },
    });
  });
});
