// Runs the migrations of Flowise by TypeORM's own runMigrations, one at a time.
//
// node migrate.js FOLDER PORT
// Says their names, then for every line on its input runs the next one and answers with its name.
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const readline = require("node:readline");

const [folder, port] = process.argv.slice(2);
const modules = path.resolve(folder, "node_modules");
const packageFolder = path.join(modules, "flowise");

// What Flowise's migrations import, and what only its server needs: a package that is not there is an empty thing.
const nothing = new Proxy(function () {}, {
  get: (_, name) => (name === "__esModule" ? false : name === Symbol.toPrimitive ? () => "" : nothing),
  apply: () => nothing,
  construct: () => nothing,
});

function standInForServerParts() {
  const load = Module._load;
  Module._load = function (request, parent, isMain) {
    if (request.endsWith("/utils/logger") || request.endsWith("/encryption.util")) return nothing;
    try {
      return load.call(this, request, parent, isMain);
    } catch (error) {
      const inside = parent?.filename.startsWith(packageFolder);
      if (error.code === "MODULE_NOT_FOUND" && inside && !request.startsWith(".")) return nothing;
      throw error;
    }
  };
}


// Flowise's enterprise folder has a licence of its own, so its migrations stay out, and what builds on them.
const builtOnEnterprise = ["AddApiKeyPermission1765360298674"];

function openPart(classes) {
  const closed = path.join(packageFolder, "dist/enterprise/database/migrations/mariadb");
  const names = fs.readdirSync(closed).filter((name) => name.endsWith(".js"));
  const enterprise = new Set(names.flatMap((name) => Object.values(require(path.join(closed, name)))));
  return classes.filter((each) => !enterprise.has(each) && !builtOnEnterprise.includes(each.name));
}

function load() {
  standInForServerParts();
  const { mariadbMigrations } = require(path.join(packageFolder, "dist/database/migrations/mariadb/index.js"));
  return { typeorm: require(path.join(modules, "typeorm")), classes: openPart(mariadbMigrations) };
}

const moment = (migration) => Number((new migration().name ?? migration.name).slice(-13));

async function runNext(typeorm, migrations) {
  const source = new typeorm.DataSource({
    type: "mariadb",
    host: "127.0.0.1",
    port: Number(port),
    username: "capture",
    password: "capture",
    database: "flowise",
    charset: "utf8mb4",
    timezone: "Z",
    legacySpatialSupport: false,
    entities: [],
    migrations,
  });
  await source.initialize();
  try {
    const done = await source.runMigrations({ transaction: "each" });
    // A statement that a migration did not wait for ends on the connection that it was sent on.
    await new Promise((resolve) => setTimeout(resolve, 50));
    return done.map((migration) => migration.name).join(",");
  } finally {
    await source.destroy();
  }
}

async function main() {
  const { typeorm, classes } = load();
  const migrations = [...classes].sort((a, b) => moment(a) - moment(b));
  const say = (what) => process.stdout.write(`>${JSON.stringify(what)}\n`);
  say({ names: migrations.map((migration) => new migration().name ?? migration.name) });
  let next = 0;
  for await (const _ of readline.createInterface({ input: process.stdin })) {
    next += 1;
    try {
      say({ name: await runNext(typeorm, migrations.slice(0, next)) });
    } catch (error) {
      say({ error: String(error.stack ?? error) });
    }
  }
}

process.on("unhandledRejection", (error) => {
  process.stdout.write(`>${JSON.stringify({ error: String(error.stack ?? error) })}\n`);
  process.exit(1);
});

main().then(() => process.exit(0));
