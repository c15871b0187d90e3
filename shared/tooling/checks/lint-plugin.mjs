// ESLint's rules that oxlint has not: oxlint loads them as a plugin named "annals".

/** @typedef {{ report: (found: { node: unknown, message: string }) => void, filename: string }} Context */
/** @typedef {{ create: (context: Context) => Record<string, (node: unknown) => void> }} Rule */

/**
 * Refuses each selected piece of code with its message.
 * @param {Record<string, string>} messages by selector
 * @returns {Rule}
 */
const refuse = (messages) => ({
  create: (context) =>
    Object.fromEntries(
      Object.entries(messages).map(([selector, message]) => [
        selector,
        (node) => {
          context.report({ node, message });
        },
      ]),
    ),
});

export default {
  meta: { name: 'annals' },
  rules: {
    'file-says-what-it-is': {
      create: (/** @type {Context} */ context) => ({
        Program: (/** @type {unknown} */ node) => {
          if (!/[/\\](index|utils?|helpers?|common|misc)\.[^/\\]*$/.test(context.filename)) return;
          context.report({ node, message: 'Name the file after its one subject.' });
        },
      }),
    },
    names: refuse({
      ExportDefaultDeclaration: 'Export by name, so that a thing is called the same everywhere.',
      TSEnumDeclaration: 'Use a union of strings.',
    }),
    'time-and-chance': refuse({
      'CallExpression[callee.object.name="Date"][callee.property.name="now"]': 'Take a Clock.',
      'NewExpression[callee.name="Date"][arguments.length=0]': 'Take a Clock.',
      'CallExpression[callee.object.name="Math"][callee.property.name="random"]': 'Take Ids.',
      'ImportSpecifier[imported.name=/^random/]': 'Take Ids.',
    }),
  },
};
