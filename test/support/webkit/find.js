/**
 * Runs in the page: the elements that the steps of a locator lead to, through open shadow roots. A step is one of
 * `{ css }`, `{ role, name, exact, level }`, `{ text }`, `{ hasText }`, `{ nth }`.
 */
export function find(steps) {
  const isVisible = (element) =>
    element.getClientRects().length > 0 && getComputedStyle(element).visibility === 'visible';
  const collapse = (text) => (text ?? '').replace(/\s+/g, ' ').trim();
  const matches = (text, wanted, exact) => {
    if (wanted === undefined) return true;
    if (typeof wanted !== 'string') return new RegExp(wanted.source, wanted.flags).test(text);
    return exact ? text === wanted : text.toLowerCase().includes(wanted.toLowerCase());
  };

  const rootsIn = (scope) => [
    scope,
    ...(scope.shadowRoot ? rootsIn(scope.shadowRoot) : []),
    ...[...scope.querySelectorAll('*')].flatMap((element) => (element.shadowRoot ? rootsIn(element.shadowRoot) : [])),
  ];
  const all = (scope, css) => {
    const found = rootsIn(scope).flatMap((root) => [...root.querySelectorAll(css.replace(':visible', ''))]);
    return [...new Set(found)].filter((element) => !css.endsWith(':visible') || isVisible(element));
  };

  /** Each blank between compound selectors may lead into a shadow root. */
  const parts = (css) => css.match(/(?:[^\s[(]|\[[^\]]*\]|\((?:[^()]|\([^()]*\))*\)|\s*[>+~]\s*)+/g) ?? [];

  const roles = {
    button: 'button, [role=button], input[type=button], input[type=submit]',
    checkbox: 'input[type=checkbox], [role=checkbox]',
    link: 'a[href], [role=link]',
    heading: 'h1, h2, h3, h4, h5, h6, [role=heading]',
    dialog: 'dialog, [role=dialog]',
    textbox: 'input:not([type]), input[type=text], input[type=search], textarea, [role=textbox]',
    searchbox: 'input[type=search], [role=searchbox]',
    img: 'img, [role=img]',
    list: 'ul, ol, [role=list]',
    listitem: 'li, [role=listitem]',
    region: 'section, [role=region]',
    navigation: 'nav, [role=navigation]',
  };

  const nameOf = (element) => {
    const ids = element.getAttribute('aria-labelledby');
    const root = element.getRootNode();
    if (ids)
      return collapse(
        ids
          .split(/\s+/)
          .map((id) => root.getElementById(id)?.textContent)
          .join(' '),
      );
    const label = element.getAttribute('aria-label');
    if (label) return collapse(label);
    if (element.labels?.length > 0) return collapse([...element.labels].map((one) => one.textContent).join(' '));
    return collapse(element.textContent) || collapse(element.getAttribute('alt') ?? element.getAttribute('title'));
  };

  const follow = (found, step) => {
    if (step.css !== undefined)
      return step.css
        .split(/,(?![^(]*\))/)
        .flatMap((one) =>
          parts(one).reduce((scopes, part) => [...new Set(scopes.flatMap((scope) => all(scope, part)))], found),
        );
    if (step.role !== undefined)
      return found
        .flatMap((scope) => all(scope, roles[step.role] ?? `[role=${step.role}]`))
        .filter((element) => isVisible(element) && matches(nameOf(element), step.name, step.exact))
        .filter(({ localName }) => step.level === undefined || localName === `h${step.level}`);
    if (step.text !== undefined) {
      const holds = (element) => matches(collapse(element.textContent), step.text, step.exact);
      return found
        .flatMap((scope) => all(scope, ':not(script, style)'))
        .filter((element) => holds(element) && ![...element.children].some(holds));
    }
    if (step.hasText !== undefined)
      return found.filter((element) =>
        matches(
          collapse(
            rootsIn(element)
              .map((root) => root.textContent)
              .join(' '),
          ),
          step.hasText,
          false,
        ),
      );
    return found.slice(step.nth).slice(0, 1);
  };

  return steps.reduce(follow, [document]);
}
