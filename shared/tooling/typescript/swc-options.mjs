/**
 * How TypeScript is compiled, in the build and under jest. Nest injects by decorator metadata, and shows class names in
 * its messages.
 * @type {import('@swc/core').Options}
 */
export const swcOptions = {
  swcrc: false,
  configFile: false,
  sourceMaps: 'inline',
  module: { type: 'es6' },
  jsc: {
    target: 'es2024',
    experimental: { keepImportAssertions: true },
    parser: { syntax: 'typescript', decorators: true },
    transform: { verbatimModuleSyntax: true, legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
  },
};
