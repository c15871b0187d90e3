import { defineConfig, globalIgnores } from 'eslint/config';
import { configs } from 'typescript-eslint';

const SPECS = ['**/*.spec.ts', '**/*.contract.ts'];
const TESTING = [
  ...SPECS,
  '**/testing/**',
  'services/standalone/{attacks,end-to-end,fault-tests,fuzzer,vault-tests}/**',
];
const JAVASCRIPT = ['**/*.mjs'];

/** @type {import('eslint').Rule.RuleModule} */
const fileSaysWhatItIs = {
  create: (context) => ({
    Program: (node) => {
      if (!/[/\\](index|utils?|helpers?|common|misc)\.[^/\\]*$/.test(context.filename)) return;
      context.report({ node, message: 'Name the file after its one subject.' });
    },
  }),
};

const TIME_AND_CHANCE = [
  { selector: 'CallExpression[callee.object.name="Date"][callee.property.name="now"]', message: 'Take a Clock.' },
  { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: 'Take a Clock.' },
  { selector: 'CallExpression[callee.object.name="Math"][callee.property.name="random"]', message: 'Take Ids.' },
  { selector: 'ImportSpecifier[imported.name=/^random/]', message: 'Take Ids.' },
];
const PAUSES = ['node:timers/promises', 'timers/promises'].map((name) => ({
  name,
  importNames: ['setTimeout'],
  message: 'It throws when its signal aborts: take pause from shared/primitives, which returns.',
}));
const NAMES = [
  { selector: 'ExportDefaultDeclaration', message: 'Export by name, so that a thing is called the same everywhere.' },
  { selector: 'TSEnumDeclaration', message: 'Use a union of strings.' },
];

export default defineConfig(
  globalIgnores(['dist/', 'client-package/', 'coverage/', '.annals/', 'schemas/generated/']),
  configs.strictTypeChecked,
  configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { annals: { rules: { 'file-says-what-it-is': fileSaysWhatItIs } } },
    rules: {
      'max-lines': ['error', 300],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'annals/file-says-what-it-is': 'error',
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...NAMES],
      // A fault that a spec need not find is one that the code does not need either.
      'no-warning-comments': ['error', { terms: ['stryker disable', 'stryker restore'], location: 'anywhere' }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'no-param-reassign': 'error',
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      // A name for a shape that has to count as JSON must be a type: an interface has no index signature.
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/consistent-indexed-object-style': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // A Nest module is a class with nothing in it.
      '@typescript-eslint/no-extraneous-class': ['error', { allowEmpty: true, allowWithDecorator: true }],
      // Nest declares its options as classes and takes plain objects.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error',
        {
          argsIgnorePattern: '^_',
          destructuredArrayIgnorePattern: '^_',
          varsIgnorePattern: '^_',
          ignoreRestSiblings: true,
        },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    // A decision taken twice on the same command, state and time is the same decision, and a fold of the same events is too.
    files: ['services/**/domain/**', 'shared/read-models/**', '**/*.handler.ts'],
    ignores: SPECS,
    rules: { 'no-restricted-syntax': ['error', ...NAMES, ...TIME_AND_CHANCE] },
  },
  {
    files: ['**/*.ts'],
    ignores: ['shared/primitives/waiting/pause.ts', ...TESTING],
    rules: { 'no-restricted-imports': ['error', ...PAUSES] },
  },
  {
    files: SPECS,
    rules: { 'max-lines': ['error', 400], 'max-lines-per-function': 'off' },
  },
  {
    // Programs of somebody else, who has no schemas: what they read as JSON has no type.
    files: ['deploy/examples/follow-*/*'],
    rules: {
      'no-console': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
    },
  },
  {
    // What a person reads in a terminal.
    files: ['services/standalone/**', 'shared/tooling/**'],
    rules: { 'no-console': 'off' },
  },
  {
    files: JAVASCRIPT,
    rules: {
      // jest and ESLint take their configuration and their parts as default exports.
      'no-restricted-syntax': 'off',
      // These do not see a type that a comment gives; tsc does.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
);
