/** Loaded before a program that keeps its sessions in SQLite: kills it at its twentieth statement, when its first turn is under way. */
const { StatementSync } = process.getBuiltinModule('node:sqlite');
let runs = 0;
StatementSync.prototype.run = new Proxy(StatementSync.prototype.run, {
  apply(run, statement, given) {
    runs += 1;
    if (runs === 20) process.kill(process.pid, 'SIGKILL');
    return Reflect.apply(run, statement, given);
  },
});
