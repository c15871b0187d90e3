/** Specs, contracts of ports, and measurements. */
export const SPEC = String.raw`\.(spec|contract|bench)\.ts$`;
/** Specs, and what helps them. Those of the whole program have folders of their own. */
export const TESTING = `${SPEC}|^(shared|(services|deploy/examples)/[^/]+)/testing/|^services/standalone/(attacks|end-to-end|fault-tests|fuzzer|vault-tests)/`;
/** Programs of somebody else, which run in a project of their own. */
export const FOREIGN = '^deploy/examples/follow-';
/** What the build leaves out, and the product may not import: tests, benches, examples and the tools of a checkout. */
export const NOT_PRODUCT = `${TESTING}|^services/standalone/bench/|^schemas/examples/|^shared/tooling/|${FOREIGN}`;
