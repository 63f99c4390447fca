/**
 * HTML that is allowed in `terms_and_conditions`, in addition to https links
 * (docs/reference/fetch-offers.md#offer-object).
 */
export type TermsRules = {
  /** Names of allowed elements. */
  tags: readonly string[];
  /**
   * Names of elements that are removed together with their content. Other disallowed elements are replaced by their
   * content.
   */
  dropped: readonly string[];
  /** Allowed inline style properties, each with a case-insensitive pattern that its whole value must match. */
  styles: Readonly<Record<string, string>>;
};

const colour = '#[\\da-f]{3,8}|[a-z]{3,30}|(rgb|hsl)a?\\([\\d.,%\\s/]{1,60}\\)';

/**
 * Rules for terms and conditions. Styles may set colour, weight, alignment and size. They must not load anything, or
 * cover or move other content.
 */
export const termsRules: TermsRules = {
  tags: 'p br ul ol li b strong i em u a span div h4 h5 h6 small sup sub table thead tbody tr th td'.split(' '),
  dropped: 'script style noscript iframe noembed noframes textarea title select option xmp'.split(' '),
  styles: {
    color: colour,
    'background-color': colour,
    'font-weight': 'normal|bold|bolder|lighter|[1-9]00',
    'text-align': 'left|right|center|justify|start|end',
    'font-size': [
      '\\d{1,2}(\\.\\d{1,3})?(px|pt)',
      '[0-3](\\.\\d{1,3})?r?em',
      '\\d{1,3}%',
      '(x-|xx-)?(small|large)|smaller|larger|medium',
    ].join('|'),
  },
};
