/** Data of the package, which ships no types: one regular expression per known robot, in PCRE syntax without flags. */
declare module 'node-device-detector/regexes/bots.js' {
  const robots: readonly { regex: string; name: string }[];
  export = robots;
}
