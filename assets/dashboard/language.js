// uPlot asks Intl for the browser's language when it is loaded, and does not survive one that Intl does not know:
// Chromium
// without a locale, as on many servers, says en-US@posix.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' });
}
