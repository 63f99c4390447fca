/**
 * A font of the publisher's, loaded by URL (docs/interface.md#web-fonts). Its measures are those of the font file in
 * thousandths of its size; with them a stand-in of the device takes the same room until it has come.
 */
export type WebFont = {
  family: string;
  /** A woff2 file. */
  url: string;
  /** CSS `font-weight` of the file: `400`, or `100 900` of a variable font. */
  weights: string;
  ascent: number;
  descent: number;
  line_gap: number;
  /** Average width of the letters of English text. */
  width: number;
  /** A woff2 file of the bold face, from the same origin; "": none. */
  bold_url: string;
  bold_width: number;
  /** Style sheet that loads the font and makes its stand-in; for the document, not a shadow root. Sent in answers. */
  faces: string;
  /** `font-family` with both. Sent in answers. */
  families: string;
};
