/**
 * How TypeScript becomes JavaScript, in the build and under jest alike.
 * Decorator metadata is what Nest injects by; class names are what its messages and tokens show.
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
