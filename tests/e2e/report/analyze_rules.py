"""What rules say of databases written by hand, against what was worked out by hand.

analyze_rules.py SIGHTLINE FOLDER NAME: runs the cases of FOLDER/NAME.txt on FOLDER/tables.sql + FOLDER/NAME.sql. A case:

    == RULE[:ARG...] [| SQL that changes the database first]
    SEVERITY COST PERCENT   (or: silent; or: no data)
    SENTENCE
    at START END ROW        (its worst place; "at nowhere"; may be left out)
    EVIDENCE as CSV
    ...                     (the rest is not looked at)
"""
import csv, io, json, os, sqlite3, subprocess, sys


def show(doc, path, with_place):
    """The document of --format json as such lines."""
    lines = []
    for f in doc['findings']:
        lines.append('%s %s %s' % (f['severity'], f['cost_ns'], f['time_percent']))
        lines.append(f['finding'])
        worst = f.get('worst')
        if with_place:
            lines.append('at %s %s %s' % (worst['start'], worst['end'], worst['row']) if worst else 'at nowhere')
        if worst:
            row = "'%s'" % worst['row'] if ' ' in worst['row'] else worst['row']
            assert worst['start'] <= worst['end'] and worst['view'].startswith('sightline view %s --at ' % path), worst
            assert ' --row %s --span ' % row in worst['view'], worst
        rows = f['evidence']
        out = io.StringIO()
        w = csv.writer(out, lineterminator='\n')
        if rows:
            w.writerow(rows[0])
            w.writerows(r.values() for r in rows)
        lines += out.getvalue().splitlines()
    if not lines:
        lines.append(doc['rules'][0]['result'])
    return lines


def cases(path):
    case = None
    for line in open(path):
        line = line.rstrip('\n')
        if line.startswith('== '):
            spec, _, sql = line[3:].partition(' | ')
            case = (spec.strip(), sql, [])
            yield case
        elif line and not line.startswith('#'):
            case[2].append(line)


def main(sightline, folder, name):
    bad = 0
    for spec, sql, want in list(cases(os.path.join(folder, name + '.txt'))):
        path = name + '.sqlite'
        if os.path.exists(path):
            os.unlink(path)
        db = sqlite3.connect(path)
        for part in ('tables.sql', name + '.sql'):
            db.executescript(open(os.path.join(folder, part)).read())
        db.executescript(sql)
        db.commit()
        db.close()
        run = subprocess.run([sightline, 'analyze', '-q', '-f', 'json', '-r', spec, path], capture_output=True, text=True)
        with_place = any(line.startswith('at ') for line in want)
        got = show(json.loads(run.stdout), path, with_place) if run.returncode in (0, 4) else ['exit %d: %s' % (run.returncode, run.stderr)]
        if want[-1] == '...':
            want, got = want[:-1], got[:len(want) - 1]
        if got != want:
            bad += 1
            print('== %s | %s' % (spec, sql))
            print('\n'.join('got:  ' + g for g in got))
            print('\n'.join('want: ' + w for w in want))
    return bad > 0


sys.exit(main(*sys.argv[1:]))
