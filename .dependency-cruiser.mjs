import { FOREIGN, NOT_PRODUCT, SPEC, TESTING } from './shared/tooling/testing-files.mjs';

/** The whole program and its tools: they start things, so nothing needs to lead to them. */
const ENTRY = String.raw`/main\.ts$|^services/standalone/annals\.ts$|^shared/tooling/`;
/** Where the process is put together: here alone an adapter is chosen. */
const BINDING = String.raw`\.module\.ts$|^shared/host/engines/engines[.]ts$|^(services|deploy/examples)/[^/]+/[^/]+$|^services/standalone/`;

/** Pure rules: of a service, or of one of its features. */
const DOMAIN = '(?:|[^/]+/)domain/';
/** The features of these services, lowest first: each may import itself and those before it. */
export const FEATURES = {
  account: [
    'edge',
    'apps',
    'sessions',
    'messages',
    'users',
    'history',
    'transparency-log',
    'login',
    'personal-data',
    'erase-user',
    'report-status',
  ],
  onchain: [
    'smart-accounts',
    'operations',
    'chain',
    'prepare-chain',
    'gas',
    'served-chains',
    'sponsorship-policy',
    'transactions',
    'sponsorship',
    'sending',
    'reputation',
    'bundler/domain',
    'bundler/mempool',
    'bundler/bundles',
    'bundler',
    'report-chains',
    'json-rpc/methods',
    'json-rpc',
  ],
};

/** A driver, and the suffixes of the files that may import it. */
const drivers = [
  { name: 'sqlite', packages: '^(node:)?sqlite$', suffixes: 'sqlite' },
  { name: 'eventstoredb', packages: '@(eventstore|grpc)/', suffixes: 'esdb' },
  { name: 'kafka', packages: '(^|/)(kafkajs|lz4-napi|snappy)(/|$)', suffixes: 'kafka' },
  { name: 'mongodb', packages: '(^|/)mongodb(/|$)', suffixes: 'mongo' },
  { name: 'ethers', packages: '(^|/)ethers(/|$)', suffixes: 'ethers' },
  { name: 'viem', packages: '(^|/)viem(/|$)', suffixes: 'viem' },
  { name: 'secp256k1', packages: '(^|/)secp256k1(/|$)', suffixes: 'secp256k1' },
  { name: 'jose', packages: '(^|/)jose(/|$)', suffixes: 'jose' },
  { name: 'smtp', packages: '(^|/)(nodemailer|smtp-server)(/|$)', suffixes: 'smtp' },
  { name: 'openid', packages: '(^|/)openid-client(/|$)', suffixes: 'oidc' },
  { name: 'webauthn', packages: '(^|/)@simplewebauthn/', suffixes: 'webauthn' },
  {
    name: 'socketio',
    packages: '(^|/)(socket[.]io(-client)?|@nestjs/platform-socket[.]io)(/|$)',
    suffixes: 'socketio|gateway',
  },
];
/** Implements a port, so another one can take its place. What only wraps a library's function implements none. */
const ADAPTER = String.raw`\.(memory|sqlite|esdb|kafka|mongo|json-rpc|smtp|telegram|oidc)\.ts$`;

const driverRules = drivers.map(({ name, packages, suffixes }) => ({
  name: `driver-${name}-by-suffix`,
  comment: `Only files named .${suffixes.replace('|', '.ts or .')}.ts know this driver.`,
  severity: 'error',
  from: { path: '^(deploy|services|shared|schemas)/', pathNot: String.raw`\.(${suffixes})\.ts$|${SPEC}|${FOREIGN}` },
  to: { path: packages, pathNot: '^(deploy|schemas|services|shared)/' },
}));

const featureRules = Object.entries(FEATURES).flatMap(([service, features]) => [
  ...features.map((feature, at) => ({
    name: `${service}/${feature}-imports-features-below`,
    comment: 'Features import features downwards: FEATURES has their order.',
    severity: 'error',
    from: { path: `^services/${service}/${feature}/`, pathNot: TESTING },
    to: {
      path: `^services/${service}/`,
      pathNot: `^services/${service}/(${features.slice(0, at + 1).join('|')})/`,
    },
  })),
  {
    name: `features-of-${service}-are-listed`,
    comment: 'A folder that is not in FEATURES may import anything.',
    severity: 'error',
    from: { path: `^services/${service}/[^/]+/`, pathNot: `^services/${service}/(${features.join('|')}|testing)/` },
    to: {},
  },
]);

const forbidden = [
  {
    name: 'nothing-circular',
    comment: 'Each of two modules that need each other can be understood only with the other.',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-orphans',
    comment: 'Nothing needs it, and it needs nothing: delete it.',
    severity: 'error',
    from: { orphan: true, pathNot: `${ENTRY}|${SPEC}|[.]d[.]ts$` },
    to: {},
  },
  {
    name: 'everything-resolves',
    comment:
      'A rule about a module that was not found checks nothing. What is measured beside Annals is installed by the benches.',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true, pathNot: '^better-auth(/|$)' },
  },
  {
    name: 'domain-is-pure',
    comment:
      'A domain knows itself, contracts, primitives, refusals, addresses, types of the ABI, calls of accounts, ids of wallets, folds of read models and what the event store calls things; it may hash and sign, and write cursors.',
    severity: 'error',
    from: { path: `^services/([^/]+)/${DOMAIN}`, pathNot: SPEC },
    to: {
      pathNot:
        `^services/$1/${DOMAIN}|` +
        '^schemas/|^shared/(primitives/(text/)?[^/.]+[.]ts|(errors|read-models)/)|^shared/(event-store/event-store|keys/(signed-text|stream-cursors)|auth/app|chain/(window|hardforks|identifiers/(abi-type|account-call|address|event-signature|claimant|wallet-identity)))[.]ts$|^crypto$',
    },
  },
  {
    name: 'services-do-not-import-services',
    comment:
      'A service is a process. Only standalone, which is all of them in one, may. Account and onchain meet in ports: see the next rules.',
    severity: 'error',
    from: { path: '^services/(?!standalone/|account/|onchain/)([^/]+)/' },
    to: { path: '^services/', pathNot: '^services/$1/' },
  },
  {
    name: 'account-binds-onchain-to-its-ports',
    comment:
      'Account asks onchain through ports of its own (AccountAssignment, SmartAccountUse, ChainStatuses), which its module alone binds.',
    severity: 'error',
    from: { path: '^services/account/', pathNot: `${TESTING}|^services/account/account[.]module[.]ts$` },
    to: { path: '^services/', pathNot: '^services/account/' },
  },
  {
    name: 'onchain-does-not-import-services',
    comment: 'The bundler runs without the account service; both know apps and users by their events.',
    severity: 'error',
    from: { path: '^services/onchain/', pathNot: TESTING },
    to: { path: '^services/', pathNot: '^services/onchain/' },
  },
  {
    name: 'examples-do-not-import-services',
    comment: 'An example is a program of somebody else, who has the topics and no service.',
    severity: 'error',
    from: { path: '^deploy/' },
    to: { path: '^services/' },
  },
  {
    name: 'standalone-starts-services',
    comment: 'Of another service standalone knows what starts it: the files directly in its folder.',
    severity: 'error',
    from: { path: '^services/standalone/', pathNot: TESTING },
    to: { path: '^services/', pathNot: '^services/(standalone/|[^/]+/[^/]+$)' },
  },
  {
    name: 'slices-do-not-import-slices',
    comment: 'What two slices need is in domain/ or edge/.',
    severity: 'error',
    from: { path: '^services/(?!standalone/|account/|onchain/)([^/]+)/(?!domain/|edge/)([^/]+)/', pathNot: TESTING },
    to: { path: '^services/$1/[^/]+/', pathNot: '^services/$1/($2|domain|edge)/' },
  },
  {
    name: 'slices-of-a-feature-do-not-import-each-other',
    comment:
      'What two slices of a feature need is in its domain/, or beside its slices. The rooms of the bundler have an order.',
    severity: 'error',
    from: {
      path: '^services/(account|onchain)/([^/]+)/(?!domain/|bundles/)([^/]+)/',
      pathNot: TESTING,
    },
    to: { path: '^services/$1/$2/[^/]+/', pathNot: '^services/$1/$2/($3|domain)/' },
  },
  {
    name: 'dependencies-point-inwards',
    comment: 'domain <- handler <- way in <- module <- main.',
    severity: 'error',
    from: {
      path: String.raw`^services/.*/[^/.]+(\.handler)?\.ts$`,
      pathNot: BINDING,
    },
    to: { path: String.raw`^(services|shared)/.*\.(http|rpc|gateway|consumer|guard|filter|interceptor|module)\.ts$` },
  },
  {
    name: 'framework-by-suffix',
    comment: 'A file without a suffix is plain TypeScript: a rule, a port, a pure function.',
    severity: 'error',
    from: {
      path: '^services/.*/[^/.]+[.]ts$',
      pathNot: `${BINDING}|/(edge|testing)/|/transaction-changes[.]ts$`,
    },
    to: { path: '(^|/)@nestjs/' },
  },
  ...featureRules,
  ...driverRules,
  {
    name: 'adapters-are-bound-not-named',
    comment: 'Who names an adapter cannot be given another one. Its type may be named.',
    severity: 'error',
    from: { pathNot: `${BINDING}|${ADAPTER}|${TESTING}` },
    to: { path: ADAPTER, dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'schemas-import-only-zod',
    comment: 'Contracts cross processes; whoever reads one must not need the rest.',
    severity: 'error',
    from: { path: '^schemas/', pathNot: SPEC },
    to: { pathNot: '^schemas/|(^|/)zod(/|$)' },
  },
  {
    name: 'edge-is-http-only',
    comment: 'A process without a way in needs no edge: what it shares with services lies below.',
    severity: 'error',
    from: { path: '^shared/(?!edge/|testing/)', pathNot: SPEC },
    to: { path: '^shared/edge/' },
  },
  {
    name: 'framework-at-the-edge',
    comment: 'Nest is how requests and batches come in; what they come to is plain TypeScript.',
    severity: 'error',
    from: {
      path: '^shared/',
      pathNot: `${TESTING}|^shared/(edge|documents)/|^shared/message-bus/consumers/batch-server[.]ts$`,
    },
    to: { path: '(^|/)@nestjs/' },
  },
  {
    name: 'read-models-are-below-the-rest-of-shared',
    comment:
      'schemas <- read-models <- the rest of shared: a fold knows contracts, primitives, ids of watches and logs, who claims watches, terms of records, what operations call and what the stores call things.',
    severity: 'error',
    from: { path: '^shared/read-models/', pathNot: SPEC },
    to: {
      pathNot:
        '^schemas/|^shared/(read-models|primitives)/|^shared/(event-store/event-store|read-store/read-store|chain/identifiers/(watch-id|claimant|log-id|record-terms|account-call))[.]ts$|(^|/)zod(/|$)',
    },
  },
  {
    name: 'shared-does-not-import-services',
    comment: 'schemas <- shared <- services.',
    severity: 'error',
    from: { path: '^shared/' },
    to: { path: '^services/' },
  },
  {
    name: 'product-does-not-import-tests',
    comment:
      'What runs in production needs no specs, nothing that helps them, and no tools; the build leaves all of that out.',
    severity: 'error',
    from: { path: '^(deploy|schemas|services|shared)/', pathNot: NOT_PRODUCT },
    to: { path: NOT_PRODUCT },
  },
  {
    name: 'product-does-not-import-development-packages',
    comment: 'What runs in production is a dependency. The hooks of the client run where there is a React.',
    severity: 'error',
    from: { pathNot: `${NOT_PRODUCT}|^shared/client/react[.]ts$` },
    to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
  },
];

export default {
  forbidden,
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(node_modules/@types|dist|schemas/generated)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { conditionNames: ['import', 'node', 'default', 'types'], exportsFields: ['exports'] },
  },
};
