import { adoptStyle, all, canConstructStyles, on, openDialog, type Style, setChildren } from '../compat.ts';
import { describeError } from '../errors.ts';
import { watchPolicy } from '../policy.ts';
import type { AdConfig, Emit, Labels, OffersResponse } from '../types.ts';
import { footer, header } from '../views/components.ts';
import { adoptFonts, button, h, newId } from '../views/dom.ts';
import { wantsRightToLeft } from '../words.ts';

/** Container for the offers, with its own shadow root. It is either a dialog over the page or a block within it. */
export type Frame = {
  /** Page element that contains the unit. */
  host: HTMLElement;
  /** Replaces the content. `moveFocus` is true after a user action. */
  setContent: (content: HTMLElement, moveFocus: boolean) => void;
  /** Creates a page element that is slotted in place of the content, for pages that render the unit themselves. */
  slotElement: () => HTMLElement;
  /** Announces a message to screen readers. */
  announce: (text: string) => void;
  remove: () => void;
};

export type FrameOptions = {
  answer: OffersResponse;
  config: AdConfig;
  labels: Labels;
  language: string;
  style: Style;
  /** Element to embed the unit in, or null to show it as an overlay. */
  target: Element | null;
  multi: boolean;
  /** Whether to omit the header, footer and border, because the page renders the unit itself. */
  bare: boolean;
  /** Base URL of the service. */
  base: string;
  emit: Emit;
  onClose: () => void;
  onLink: (url: string, event: Event) => void;
};

export function openFrame(options: FrameOptions): Frame {
  const { answer, config, labels, language, style, target, multi, bare, onClose } = options;
  const { settings } = answer;
  const host = h('div', { 'data-perkwire': '' });
  const unwatch = watchPolicy(options.base, (err) => options.emit('error', describeError(err)));
  const root = host.attachShadow({ mode: 'open' });
  adoptStyle(root, style);
  applyTheme(host, root, answer);

  const restoreFocus = rememberFocus();
  const headingId = newId();
  const close = h('button', {
    type: 'button',
    class: 'close',
    'aria-label': labels.close,
    hidden: true,
    click: onClose,
  });
  const done = button('btn no', onClose, labels.done);
  const status = h('p', { class: 'sr', role: 'status' });
  const scroll = h('div', 'scroll');
  const withHeader = !bare && (target === null || settings.embedded.showHeader) && answer.styles.header.text !== '';
  const name = withHeader ? { 'aria-labelledby': headingId } : { 'aria-label': labels.offers };
  const frame = h(
    target === null ? 'dialog' : 'section',
    { class: classesOf(options), lang: language, dir: wantsRightToLeft(config) && 'rtl', ...name },
    close,
    withHeader ? header(answer, headingId) : null,
    scroll,
  );
  if (!bare && target === null && multi) frame.append(h('div', 'done', done));
  if (!bare && (target === null || settings.embedded.showFooter)) frame.append(footer(answer, options.onLink));
  frame.append(status);
  root.append(frame);
  const parent = target ?? document.body ?? document.documentElement;
  removeCopies(parent);
  live.add(host);
  parent.append(host);

  const closeDelayMs = settings.enable_close_delay ? settings.close_delay * 1000 : 0;
  let closable = false;
  done.disabled = true;
  const timer = setTimeout(allowClose, closeDelayMs);
  if (closeDelayMs === 0) allowClose();
  function allowClose(): void {
    closable = true;
    done.disabled = false;
    close.hidden = !settings.show_close;
  }
  const closeFrame = (): unknown => closable && onClose();
  const stopListening = target === null ? openOverPage(frame as HTMLDialogElement, root, options, closeFrame) : null;

  return {
    host,
    setContent: (content, moveFocus) => {
      setChildren(scroll, content);
      scroll.scrollTop = 0;
      if (moveFocus) (scroll.querySelector<HTMLElement>('.title') ?? frame).focus({ preventScroll: target !== null });
    },
    slotElement: () => {
      const element = document.createElement('div');
      setChildren(host, element);
      setChildren(scroll, document.createElement('slot'));
      return element;
    },
    announce: (text) => {
      status.textContent = text;
    },
    remove: () => {
      unwatch();
      stopListening?.();
      clearTimeout(timer);
      const hadFocus = root.activeElement !== null || host.contains(document.activeElement) || target === null;
      host.remove();
      if (hadFocus) restoreFocus();
    },
  };
}

function classesOf({ answer: { settings, styles, appearance }, target, multi }: FrameOptions): string {
  const shape = `${multi ? ' many' : ' one'} ${appearance.spacing}`;
  const { showBorder, fill_container } = settings.embedded;
  if (target !== null) return `frame embedded${shape}${showBorder ? ' border' : ''}${fill_container ? ' fill' : ''}`;
  const wide = !multi && ['left', 'right'].includes(styles.popup.image_position) ? ' wide' : '';
  const dark = isDark(settings) ? ' dark' : '';
  const position = settings.ad_position.toLowerCase().replace(/[^a-z]+/g, ' ');
  const animation = /^(fade|slide)/.exec(settings.ad_animation)?.[0] ?? '';
  return `frame${shape}${wide}${dark} ${position} ${animation}`;
}

const isCentred = ({ ad_position }: OffersResponse['settings']): boolean =>
  /^(center|centre|middle)?$/i.test(ad_position);

const isDark = (settings: OffersResponse['settings']): boolean =>
  isCentred(settings) ? settings.darken_bg : settings.darken_bg_non_centered;

/** Host elements of the units on this page. */
const live = new WeakSet<Element>();

/** Removes a unit's remains from a copy of the page, such as the copy that Turbo shows on back navigation. */
export function removeCopies(parent: Element): void {
  for (const child of [...parent.children])
    if (child.matches('[data-perkwire],[data-perkwire-space]') && !live.has(child)) child.remove();
}

/**
 * Opens the unit as an overlay. The overlay is modal, unless the theme places it off-centre without darkening the page.
 * In that case, the page stays usable.
 * @returns a function that removes the page's listeners
 */
function openOverPage(
  dialog: HTMLDialogElement,
  root: ShadowRoot,
  { answer: { settings }, onClose }: FrameOptions,
  close: () => unknown,
): () => void {
  const modal = isCentred(settings) || isDark(settings);
  dialog.tabIndex = -1;
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault();
    close();
  });
  // The browser may close the dialog despite preventDefault, for example after a second back gesture.
  dialog.addEventListener('close', onClose);
  dialog.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (modal) trapTab(event, root, dialog);
  });
  const openedAtMs = performance.now();
  const closeByClick = (event: Event): void => {
    // Ignore the click that opened the unit. A modal dialog also receives clicks outside its bounds, so check the click
    // position.
    if (event.timeStamp > openedAtMs && isOutside(event as MouseEvent, dialog)) close();
  };
  openDialog(dialog, modal, isDark(settings) ? 'dark' : '');
  dialog.focus();
  return settings.close_ad_on_click_outside ? on(document, 'click', closeByClick) : all([]);
}

function isOutside(event: MouseEvent, dialog: HTMLElement): boolean {
  const path = event.composedPath();
  if (!path.includes(dialog)) return true;
  if (path[0] !== dialog) return false;
  const { clientX, clientY } = event;
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}

/**
 * Applies the publisher's theme as custom properties in the unit's own style sheet or in the host's inline style. Each
 * property is named after its path in `styles` (`--offerText-buttonYes-color`), or after its path in `settings` with
 * the prefix `--s-`. Plain numbers are pixels. All properties are `!important`, because page rules for any element
 * (`*`) also match the host.
 */
function applyTheme(host: HTMLElement, root: ShadowRoot, { styles, settings, dark, appearance }: OffersResponse): void {
  const sheet = canConstructStyles ? new CSSStyleSheet() : null;
  const { color_scheme: scheme, width } = appearance;
  const ruleOf = (condition: string): CSSStyleDeclaration => {
    if (sheet === null) return host.style;
    const at = sheet.insertRule(`@media ${condition}{:host{}}`, sheet.cssRules.length);
    return ((sheet.cssRules[at] as CSSMediaRule).cssRules[0] as CSSStyleRule).style;
  };

  function set(style: CSSStyleDeclaration, name: string, value: unknown): void {
    if (typeof value === 'object')
      for (const [key, part] of Object.entries(value ?? {})) set(style, `${name}-${key}`, part);
    else style.setProperty(name, /^-?[\d.]+$/.test(String(value)) ? `${value}px` : String(value), 'important');
  }

  const light = ruleOf('all');
  set(light, '-', styles);
  set(light, '--s', settings);
  set(light, '--align', settings.offerText.tileTextAlignment.replace('left', 'start').replace('right', 'end'));
  set(light, '--mobile-offset', settings.enable_vertical_offset ? settings.mobile_vertical_offset : 0);
  if (width > 0) set(light, '--width', width);
  const { faces, families } = appearance.web_font ?? {};
  if (faces) {
    adoptFonts(faces);
    set(light, '--offerText-font', `${families},${styles.offerText.font}`);
  }
  const darkWhen = scheme === 'dark' ? 'all' : '(prefers-color-scheme:dark)';
  if (dark !== null && (sheet !== null || matchMedia(darkWhen).matches)) {
    const style = ruleOf(darkWhen);
    set(style, '-', dark);
    style.setProperty('color-scheme', 'dark', 'important');
  }
  if (sheet !== null) adoptStyle(root, sheet);
}

const focusable =
  'a[href],button:not([disabled]),input:not([disabled]),select,textarea,summary,[tabindex]:not([tabindex="-1"])';

/**
 * Keeps the keyboard focus within a modal unit by making the Tab key wrap around. The page behind it is already inert.
 */
function trapTab(event: KeyboardEvent, root: ShadowRoot, frame: HTMLElement): void {
  if (event.key !== 'Tab') return;
  const host = root.host;
  const elements = [
    ...frame.querySelectorAll<HTMLElement>(focusable),
    ...host.querySelectorAll<HTMLElement>(focusable),
  ].filter((element) => element.getClientRects().length > 0);
  const [first] = elements;
  const last = elements[elements.length - 1];
  const now = root.activeElement ?? (host.contains(document.activeElement) ? document.activeElement : null);
  const atEnd = event.shiftKey ? now === first || now === null || !elements.includes(now as HTMLElement) : now === last;
  if (!atEnd) return;
  event.preventDefault();
  (event.shiftKey ? last : first)?.focus();
}

/**
 * Remembers the focused element.
 * @returns a function that restores the focus
 */
function rememberFocus(): () => void {
  const focused = document.activeElement;
  return () => {
    if (focused instanceof HTMLElement && focused.isConnected) focused.focus({ preventScroll: true });
  };
}
